"""What runs inside a Dask worker: a plugin that keeps the graders, and the task that hands work to them.

The worker process itself imports neither torch nor a lab, and never unpickles what passes through it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from distributed import WorkerPlugin, get_worker

from autograder.cluster.fitness import About, Wanted
from autograder.cluster.graders import Graders
from autograder.errors import ClusterError


class GraderPlugin(WorkerPlugin):  # type: ignore[misc, unused-ignore]
    """Starts the graders when a worker gets the plugin, also one that joins later; ends them when the run is over."""

    def __init__(self, wanted: Wanted, at_first: int | None = None) -> None:
        self.wanted, self.at_first = wanted, at_first
        self.graders: Graders | None = None

    def setup(self, worker: Any) -> None:
        """Start a grader for each thread of the worker; they get ready while it goes on.

        In a cluster that was made for this run, whose workers are numbered, only the first `at_first` do not wait to be asked.
        """
        waits = self.at_first is not None and isinstance(worker.name, int) and worker.name >= self.at_first
        self.graders = Graders(worker.state.nthreads, self.wanted, at_once=not waits)

    async def teardown(self, worker: Any) -> None:
        """End them, with whatever they do."""
        graders, self.graders = self.graders, None
        if graders is not None:
            await asyncio.to_thread(graders.close)


def _graders(worker: Any, name: str) -> Graders:
    plugin = worker.plugins.get(name)
    if plugin is None or plugin.graders is None:
        raise ClusterError(f"The worker {worker.address} has no graders for this run (any more).")
    graders: Graders = plugin.graders
    return graders


async def about(name: str, dask_worker: Any) -> list[About]:
    """Return what the graders of a worker say of themselves; run on every worker by the client."""
    return await asyncio.to_thread(_graders(dask_worker, name).about)


def in_a_grader(name: str, asked: bytes) -> bytes:
    """Hand a pickled call to a grader of this worker and return its pickled answer: the task."""
    return _graders(get_worker(), name).ask(asked)
