"""Where submissions are graded: the words of a command, and the executor that they ask for.

Processes of this machine are the default. Dask is imported only when it is asked for, since few need it; and nothing that takes
time is imported for `--help`.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.errors import UsageError

if TYPE_CHECKING:
    from autograder.grading.pool import Crew

FILES = {"tls_ca": "--tls-ca", "tls_cert": "--tls-cert", "tls_key": "--tls-key"}


def add_executor(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where submissions are graded, and how many at a time."""
    group = parser.add_argument_group("where submissions are graded")
    group.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="workers on this machine (half as many as processors: each keeps two busy)",
    )
    group.add_argument(
        "--at-once",
        type=int,
        metavar="N",
        help="notebooks at a time in each worker (2 or 3, by the processors for each)",
    )
    group.add_argument(
        "--executor",
        choices=("processes", "dask"),
        default="processes",
        help="what the workers are: processes (the default), or those of a Dask cluster",
    )
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="of the Dask cluster, as tls://host:8786 (without it: a cluster on this machine, of --jobs workers)",
    )
    group.add_argument("--tls-ca", type=Path, metavar="FILE", help="certificate of the cluster's authority")
    group.add_argument("--tls-cert", type=Path, metavar="FILE", help="your certificate")
    group.add_argument("--tls-key", type=Path, metavar="FILE", help="your key")
    group.add_argument("--insecure-scheduler", action="store_true", help="allow a scheduler without TLS")


def crew_of(given: argparse.Namespace, count: int) -> Crew:
    """Return how `count` submissions are spread over the workers that the words ask for.

    Raises:
        UsageError: the words do not fit together, or Dask is not installed.
        ClusterError: the cluster cannot be reached, or has no workers.
    """
    _check(given)
    from autograder.grading.pool import Crew
    from autograder.sandbox.processors import processors

    workers, there = given.jobs, processors()
    if given.scheduler is not None and count:
        workers, there = _far(given).size()
    return Crew.fitting(count, there, workers, given.at_once)


@contextmanager
def opened(given: argparse.Namespace, course: Path, crew: Crew) -> Iterator[Executor]:
    """Give the executor that the words ask for; a cluster of other machines has the workers that it has.

    Raises:
        UsageError: the words do not fit together, or Dask is not installed.
        ClusterError: the cluster cannot be reached, or one of its workers must not grade.
    """
    _check(given)
    if given.executor == "processes":
        from autograder.grading.pool import processes

        with processes(crew.workers, course, sandboxed=not given.no_sandbox) as pool:
            yield pool
        return
    from autograder.cluster.fitness import wanted

    needs = wanted(course, given.lab, sandboxed=not given.no_sandbox, local=given.scheduler is None)
    if given.scheduler is None:
        from autograder.cluster.local import local_cluster

        with local_cluster(crew.workers, needs, crew.at_first) as here:
            yield here
        return
    with _far(given).opened(needs) as there:
        yield there


def _far(given: argparse.Namespace) -> Any:
    from autograder.cluster.client import Cluster
    from autograder.cluster.tls import checked_address, security

    address = checked_address(given.scheduler, insecure=given.insecure_scheduler)
    return Cluster(address, security(address, {option: getattr(given, name) for name, option in FILES.items()}))


def _check(given: argparse.Namespace) -> None:
    for word, number in (("--jobs", given.jobs), ("--at-once", given.at_once)):
        if number is not None and number < 1:
            raise UsageError(f"{word} must be at least 1; {number} was given.")
    named = [option for name, option in FILES.items() if getattr(given, name) is not None]
    named += ["--insecure-scheduler"] * given.insecure_scheduler
    if given.executor != "dask":
        named += ["--scheduler"] * (given.scheduler is not None)
        if named:
            raise UsageError(f"{', '.join(named)} is about a cluster; add --executor dask.")
        return
    if given.scheduler is None and named:
        raise UsageError(f"{', '.join(named)} is about other machines; add --scheduler tls://HOST:PORT.")
    if given.scheduler is not None and given.jobs is not None:
        raise UsageError("--jobs is about this machine; the cluster at --scheduler has the workers that it has.")
    lacking = [name for name in ("distributed", "cryptography") if importlib.util.find_spec(name) is None]
    if lacking:
        raise UsageError(f"--executor dask needs {' and '.join(lacking)}: pip install '.[grading,cluster]'")
