"""How large a cluster is can be said while workers leave it: those that answer count."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from distributed import Security
from distributed.comm.core import CommClosedError

from autograder.cluster.client import Cluster


class Fake:
    """A client of workers, of which some do not answer; as dask's, it raises for those unless it is told not to."""

    def __init__(self, answers: dict[str, int], silent: int) -> None:
        self.answers, self.silent = answers, silent

    def run(self, function: Any, on_error: str = "raise") -> dict[str, int]:
        """Answer for the workers that do."""
        if self.silent and on_error != "ignore":
            raise CommClosedError("the worker has left")
        return self.answers

    def nthreads(self) -> dict[str, int]:
        """One thread for each worker that the scheduler has not yet missed."""
        return dict.fromkeys([*self.answers, *(f"tls://gone:{number}" for number in range(self.silent))], 1)


@pytest.mark.parametrize(
    ("answers", "silent", "size"),
    [
        ({"tls://a:1": 4, "tls://a:2": 4, "tls://b:1": 2}, 0, (3, 6)),
        ({"tls://a:1": 4, "tls://a:2": 4}, 1, (3, 4)),
        ({}, 2, (2, 1)),
    ],
    ids=["all answer", "one has left", "none answers"],
)
def test_those_that_answer_count(
    answers: dict[str, int], silent: int, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine's processors once, however many workers run on it, and never none at all."""

    @contextmanager
    def connected(self: Cluster) -> Iterator[Fake]:
        yield Fake(answers, silent)

    monkeypatch.setattr(Cluster, "_connected", connected)
    assert Cluster("tls://127.0.0.1:8786", Security()).size() == size
