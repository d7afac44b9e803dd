"""The near end of a cluster: a client of its scheduler, and what keeps the graders of its workers for one run.

Everything that a worker says is checked before the first submission goes out: one that has another version of the lab, or no
sandbox, is named, and nothing is graded.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from distributed import Client, Security
from distributed.versions import VersionMismatchWarning

from autograder.cluster.executor import ClusterExecutor
from autograder.cluster.fitness import Wanted
from autograder.cluster.plugin import GraderPlugin, about
from autograder.errors import ClusterError
from autograder.sandbox.processors import processors

CONNECT_S = 15.0
JOIN_S = 120.0
"""How long to wait for the first worker: a queue of jobs may be slow to start one."""


@dataclass(frozen=True)
class Cluster:
    """A scheduler, and what to show it."""

    address: str
    security: Security
    join_s: float = JOIN_S

    def size(self) -> tuple[int, int]:
        """Return how many graders the workers will run, and how many processors they have.

        Raises:
            ClusterError: the scheduler cannot be reached, or no worker comes.
        """
        with self._connected() as client:
            # One that is leaving just now, or has another version of the grader, does not answer: it is seen when graders begin.
            answers = client.run(processors, on_error="ignore")
            hosts = {worker.rpartition(":")[0]: count for worker, count in answers.items()}
            return sum(client.nthreads().values()), max(1, sum(hosts.values()))

    @contextmanager
    def opened(self, wanted: Wanted, at_first: int | None = None) -> Iterator[ClusterExecutor]:
        """Give an executor whose graders live as long as the block.

        `at_first`, for workers that share one machine, is on how many of them graders begin before there is a first result: each
        begins two processes that import torch, and more than the machine can do at once would make the first result late.

        Raises:
            ClusterError: the scheduler cannot be reached, no worker comes, or one of them must not grade; it is named.
        """
        run = f"autograder-{uuid.uuid4().hex[:12]}"
        with self._connected() as client:
            try:
                ready = _start_graders(client, run, wanted, at_first)
                executor = ClusterExecutor(client, run, first=ready)
                try:
                    yield executor
                finally:
                    executor.shutdown(cancel_futures=True)
            finally:
                with suppress(Exception):  # a scheduler that is gone has no plugins
                    client.unregister_worker_plugin(run)

    @contextmanager
    def _connected(self) -> Iterator[Client]:
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # a submission may weigh megabytes
        # What counts is compared by the graders: see `autograder.cluster.process`.
        warnings.filterwarnings("ignore", category=VersionMismatchWarning)
        try:
            client = Client(
                self.address, security=self.security, timeout=CONNECT_S, set_as_default=False, name="autograder"
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise ClusterError(
                f"The scheduler {self.address} cannot be reached ({error}). See whether it runs there, speaks TLS, and has "
                "certificates of the same authority as yours."
            ) from error
        try:
            try:
                client.wait_for_workers(1, timeout=self.join_s)
            except TimeoutError as error:
                raise ClusterError(
                    f"No worker joined {self.address} within {self.join_s:g} s. Start some, as deploy/dask/README.md says."
                ) from error
            yield client
        finally:
            with suppress(Exception):
                client.close(timeout=CONNECT_S)


def _start_graders(client: Client, run: str, wanted: Wanted, at_first: int | None) -> tuple[str, ...]:
    """Start graders and return the addresses of the workers that have some; ClusterError unless all of them are fit."""
    try:
        client.register_plugin(GraderPlugin(wanted, at_first), name=run)
    except Exception as error:  # whatever a worker without our package says
        raise ClusterError(
            f"The workers cannot start graders ({error!r}). Install this course on each, as deploy/dask/README.md says."
        ) from error
    ready: list[str] = []
    troubles: dict[str, str] = {}
    for worker, said in client.run(about, run, on_error="return").items():
        if isinstance(said, BaseException):
            troubles[worker] = f"it cannot start graders: {said}"
        else:
            ready += [worker] * bool(said)
            troubles |= {f"{one.host} ({worker})": one.trouble for one in said if one.trouble}
    if troubles:
        named = "\n".join(f"  {worker}: {trouble}" for worker, trouble in sorted(troubles.items()))
        raise ClusterError(f"Nothing was graded, because these workers must not grade:\n{named}")
    return tuple(ready)
