"""Grade many submissions on an executor: pure work items out, results in as they are done.

A work item is data and its result is data: no database, no folder of the class, no shared state. Any `concurrent.futures.Executor`
will do; the default is a pool of processes. Work goes out in bundles, a few at a time, so that neither the class nor its results
have to lie in memory at once. A submission whose sandbox failed is reported as ungraded, never as a zero, and does not stop the
others.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.grading.report import Graded, Report
from autograder.grading.work import Result, Work, begin, grade_bundle

if TYPE_CHECKING:
    from nbformat import NotebookNode

__all__ = ["Crew", "Done", "Work", "grade_all", "grade_many", "processes"]

LARGEST_BUNDLE = 8
AHEAD = 2  # bundles that wait, for each worker, so that none of them is ever idle
BREAKS = 2  # pools that broke before they gave anything; then it is not a submission's doing


@dataclass(frozen=True)
class Crew:
    """How work is spread: how many workers, how many notebooks each plays at once, and how many kernels share a processor."""

    workers: int = 1
    at_once: int = 1
    stretch: float = 1

    @staticmethod
    def of(workers: int, at_once: int, processors: int) -> Crew:
        """Return a crew on one machine."""
        return Crew(workers, at_once, max(1.0, workers * at_once / processors))


@dataclass(frozen=True)
class Done:
    """What came of one submission: a report and the graded notebook, or `trouble`, our own failure."""

    student: str
    report: Report | None
    notebook: NotebookNode | None
    trouble: str = ""
    broken: bool = False  # the worker died, perhaps with another submission's work; it may be tried again

    @property
    def graded(self) -> Graded | None:
        """Report and notebook together, if there are any."""
        if self.report is None or self.notebook is None:
            return None
        return Graded(self.report, self.notebook)


ALONE = Crew()


def grade_many(works: Iterable[Work], executor: Executor, crew: Crew = ALONE, total: int = 0) -> Iterator[Done]:
    """Yield each submission's result as soon as it is there, in no certain order.

    `total` is how many works there are, if that is known: then the last bundles are small, and all workers end together. An
    executor that broke is given nothing more; what is left stays in `works` if that is an iterator.
    """
    rest = iter(works)
    waiting: dict[Future[tuple[Result, ...]], tuple[Work, ...]] = {}
    sizes = _sizes(crew, total)
    found: list[Done] = []
    # A worker begins with two processes that import torch: half of the workers keep a machine busy until there is a first result.
    room = max(1, crew.workers // 2)
    whole = True
    while True:
        while whole and len(waiting) < room:
            bundle = tuple(itertools.islice(rest, next(sizes)))
            if not bundle:
                break
            try:
                waiting[executor.submit(grade_bundle, bundle, crew.at_once, crew.stretch)] = bundle
            except (BrokenExecutor, RuntimeError) as error:  # it broke just now
                whole = False
                found += _broken(bundle, error)
        yield from found  # when the workers have their next bundles: whoever takes these may take a while
        if not waiting:
            return
        found, room = [], AHEAD * crew.workers
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            bundle = waiting.pop(future)
            try:
                results = future.result()
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                whole = whole and not isinstance(error, BrokenExecutor)
                found += _broken(bundle, error)
            else:
                found += map(_done, results)


def grade_all(
    students: Sequence[str],
    work_of: Callable[[str], Work],
    open_crew: Callable[[Crew], AbstractContextManager[Executor]],
    crew: Crew,
) -> Iterator[Done]:
    """Grade everyone, whatever happens to workers: whom a pool held when it broke is graded alone in the end.

    So one submission that ends its worker costs no other its grade, and is itself named, not graded.
    """
    rest = iter(students)
    suspects: list[str] = []
    fruitless = 0
    for first in rest:
        works = map(work_of, itertools.chain([first], rest))
        got = 0
        with open_crew(crew) as executor:
            for done in grade_many(works, executor, crew, len(students)):
                if done.broken:
                    suspects.append(done.student)
                else:
                    got += 1
                    yield done
        fruitless = 0 if got else fruitless + 1
        if fruitless == BREAKS:
            break
    for student in suspects:
        with open_crew(ALONE) as executor:
            yield from grade_many([work_of(student)], executor)
    for student in rest:
        yield Done(
            student, None, None, f"not tried: {BREAKS} times all workers died before one of them had graded anything"
        )


def processes(jobs: int, course: Path | None = None, *, sandboxed: bool = True) -> ProcessPoolExecutor:
    """Return the default executor: processes, each with one thread of arithmetic."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads of several workers would spin against each other
    # A small server forks the workers. It has not imported torch: each worker does so while its template does, and the first one
    # need not wait until a server has.
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(["autograder.grading.work"])
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=begin, initargs=(course, sandboxed))


def _sizes(crew: Crew, total: int) -> Iterator[int]:
    """Small bundles first, so that something is seen soon, then larger ones, then small ones again."""
    sent = 0
    for number in itertools.count():
        size = min(LARGEST_BUNDLE, 2 ** (number // crew.workers))
        if total:
            size = min(size, max(1, (total - sent) // (2 * crew.workers)))
        sent += size
        yield size


def _broken(bundle: Sequence[Work], error: BaseException) -> Iterator[Done]:
    for work in bundle:
        yield Done(work.student, None, None, f"the grader's own process failed: {error!r}", broken=True)


def _done(result: Result) -> Done:
    if result.trouble:
        return Done(result.student, None, None, result.trouble)
    from nbformat import from_dict

    notebook: NotebookNode = from_dict(json.loads(result.notebook))  # type: ignore[no-untyped-call]
    return Done(result.student, Report.from_json(json.loads(result.report)), notebook)
