"""A cluster on this machine for one run: the same path as to other machines, TLS included, with nothing to set up."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import dask
from distributed import LocalCluster, Security

from autograder.cluster.client import Cluster
from autograder.cluster.executor import ClusterExecutor
from autograder.cluster.fitness import Wanted
from autograder.errors import ClusterError

SETTINGS = {
    "distributed.scheduler.allowed-failures": 1,  # what two workers died of is given back
    "distributed.worker.profile.enabled": False,  # the worker only waits
    # Plain HTTP, which nobody needs here: only the page that says that it is alive.
    "distributed.scheduler.http.routes": ["distributed.http.health"],
    "distributed.worker.http.routes": ["distributed.http.health"],
}


@contextmanager
def local_cluster(workers: int, wanted: Wanted, at_first: int = 1) -> Iterator[ClusterExecutor]:
    """Give an executor on so many workers of this machine, with keys that are made for this run and never written.

    On `at_first` of them graders begin before there is a result.
    """
    with dask.config.set(SETTINGS):
        security = Security.temporary()
        try:
            with _deaf_to_the_keyboard():
                local = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    security=security,
                    protocol="tls://",
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    memory_limit=0,  # a worker holds next to nothing; the boxes of its grader have their own limits
                    silence_logs=logging.CRITICAL,
                )
        except (OSError, RuntimeError, TimeoutError) as error:
            raise ClusterError(f"No cluster could be started on this machine: {error}.") from error
        with local, Cluster(local.scheduler_address, security).opened(wanted, at_first) as executor:
            yield executor


@contextmanager
def _deaf_to_the_keyboard() -> Iterator[None]:
    """Have processes that are started in the block not hear Ctrl-C: this one does, and ends them without their tracebacks."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
