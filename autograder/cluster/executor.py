"""An executor whose calls run in the graders of a cluster: bytes go out, bytes come back, Dask decides where.

When a worker is lost Dask gives its call to another one, some times. What it gives up, and what a dying grader had in hand, comes
back as a ClusterError, so that the caller may ask again. A cluster without its scheduler, or for long without a worker, is broken.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import suppress
from typing import Any, TypeVar

from distributed import Client, KilledWorker

from autograder.cluster.plugin import in_a_grader
from autograder.errors import ClusterError

T = TypeVar("T")

DESERTED_S = 300.0
"""How long a run goes on without any worker."""
LOOK_S = 5.0


class BrokenCluster(BrokenExecutor):
    """No call can run there any more."""


class ClusterExecutor(Executor):
    """Runs calls in the graders of one run; made by `Cluster.opened`."""

    def __init__(self, client: Client, run: str, deserted_s: float = DESERTED_S, first: Sequence[str] = ()) -> None:
        self._client, self._run = client, run
        self._first = list(first)  # the workers that are asked until there is a first answer; the others are not ready
        self._dask = client.get_executor(pure=False, retries=0)
        self._deserted_s = deserted_s
        self._open: set[Future[Any]] = set()
        self._closed = threading.Event()
        self._broken: BrokenCluster | None = None
        threading.Thread(target=self._watch, name="cluster-watch", daemon=True).start()

    def submit(self, call: Callable[..., T], /, *args: Any, **words: Any) -> Future[T]:
        """Have a grader call `call`, a function that can be imported there.

        Raises:
            BrokenCluster: there is no cluster any more; also in the future.
            ClusterError (in the future): the grader was lost on the way; the call may be made again.
        """
        if self._broken is not None:
            raise self._broken
        if self._closed.is_set():
            raise RuntimeError("the cluster is closed")
        outer: Future[T] = Future()
        where = {"workers": self._first, "allow_other_workers": True} if self._first else {}
        inner = self._dask.submit(in_a_grader, self._run, pickle.dumps((call, args, words)), **where)
        self._open.add(outer)

        def ended(done: Future[T]) -> None:
            self._open.discard(done)
            inner.cancel()  # which does nothing where it has ended

        outer.add_done_callback(ended)
        inner.add_done_callback(lambda done: self._hand_on(done, outer))
        return outer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls, and wait for those that were made, or drop them."""
        for future in list(self._open):
            if cancel_futures:
                future.cancel()
            elif wait:
                with suppress(BaseException):
                    future.exception()
        self._closed.set()

    def _hand_on(self, inner: Future[bytes], outer: Future[Any]) -> None:
        if inner.cancelled():
            self._broken = self._broken or BrokenCluster(
                "The connection to the scheduler was lost. See whether it runs, and run this again."
            )
            _end(outer, self._broken)
            return
        self._first = []
        error = inner.exception()
        if error is None:
            well, value = pickle.loads(inner.result())
            _end(outer, None if well else value, value)
        elif isinstance(error, ClusterError):
            _end(outer, error)
        elif isinstance(error, KilledWorker):
            place = getattr(error.last_worker, "address", "an unknown address")
            _end(outer, ClusterError(f"Each worker that had it was lost, the last one at {place}."))
        else:
            _end(outer, ClusterError(f"The cluster failed: {error!r}"))

    def _watch(self) -> None:
        """Break the cluster when nobody is left in it."""
        every_s = min(LOOK_S, self._deserted_s)
        without_s = 0.0
        while not self._closed.wait(every_s):
            with suppress(Exception):  # a scheduler that is gone ends the calls by itself
                without_s = 0.0 if self._client.nthreads() else without_s + every_s
            if without_s >= self._deserted_s:
                self._broken = BrokenCluster(
                    f"No worker was left in the cluster for {without_s:g} s. Start workers, and run this again."
                )
                for future in list(self._open):
                    _end(future, self._broken)
                return


def _end(future: Future[Any], error: BaseException | None, value: Any = None) -> None:
    """Settle a future, unless it is settled or dropped."""
    with suppress(Exception):
        if not future.done() and future.set_running_or_notify_cancel():
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(value)
