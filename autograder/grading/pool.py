"""Grade many submissions on an executor: pure work items out, results in as they are done.

A work item is data and its result is data: no database, no folder of the class, no shared state. Any `concurrent.futures.Executor`
will do; the default is a pool of processes. Work goes out in bundles, a few at a time, so that neither the class nor its results
have to lie in memory at once. A submission whose sandbox failed is reported as ungraded, never as a zero, and does not stop the
others.
"""

from __future__ import annotations

import itertools
import json
import math
import multiprocessing
import os
from collections import deque
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

LARGEST_BUNDLE = 32  # between two of them a worker has less to do than it could; what is lost with one is graded again
MORE_THAN_ONE, AT_MOST = 2, 3  # notebooks that a worker plays at once: while one is judged, others compute
IN_FLIGHT = 1.5  # notebooks for each processor
AHEAD = 2  # bundles that wait, for each worker, so that none of them is ever idle
LOSSES = 2  # workers that one submission ended while nothing else was to be done; then it is its doing
BREAKS = 2  # pools that broke before they gave anything; then it is not a submission's doing


@dataclass(frozen=True)
class Crew:
    """How work is spread: how many workers, how many notebooks each plays at once, and how many kernels share a processor."""

    workers: int = 1
    at_once: int = 1
    stretch: float = 1
    early: int = 0

    @staticmethod
    def of(workers: int, at_once: int, processors: int) -> Crew:
        """Return a crew on one machine."""
        early = max(1, min(workers, processors // 2))
        return Crew(workers, at_once, max(1.0, workers * at_once / processors), early)

    @staticmethod
    def fitting(count: int, processors: int, workers: int | None = None, at_once: int | None = None) -> Crew:
        """Return a crew for so many submissions; where nobody says otherwise, of half as many workers as there are processors.

        A worker judges while two or three kernels compute, and so keeps two processors busy by itself.
        """
        if workers is None:
            workers = math.ceil(processors / 2)
        workers = max(1, min(workers, count))
        if at_once is None:
            at_once = min(AT_MOST, max(MORE_THAN_ONE, math.ceil(IN_FLIGHT * processors / workers)))
        return Crew.of(workers, at_once, processors)

    @property
    def at_first(self) -> int:
        """How many workers begin before there is a result: each imports torch in two processes at once, itself and its template."""
        return self.early or max(1, self.workers // 2)


@dataclass(frozen=True)
class Done:
    """What came of one submission: a report and the graded notebook, or `trouble`, our own failure."""

    student: str
    report: Report | None
    notebook: NotebookNode | None
    trouble: str = ""
    broken: bool = False  # the worker died, perhaps with another submission's work; it may be tried again
    text: str = ""  # of the report, as it goes into a file

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
    room = crew.at_first
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
    """Grade everyone, whatever happens to workers: whose work a worker or a pool had when it died is graded alone in the end.

    So one submission that ends its worker costs no other its grade, and is itself named, not graded.
    """
    rest = iter(students)
    suspects: deque[str] = deque()
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
            yield from _one_by_one(suspects, work_of, executor, new=False)
        fruitless = 0 if got else fruitless + 1
        if fruitless == BREAKS:
            break
    while suspects:
        with open_crew(ALONE) as executor:
            yield from _one_by_one(suspects, work_of, executor, new=True)
    for student in rest:
        yield Done(
            student, None, None, f"not tried: {BREAKS} times all workers died before one of them had graded anything"
        )


def _one_by_one(
    suspects: deque[str], work_of: Callable[[str], Work], executor: Executor, *, new: bool
) -> Iterator[Done]:
    """Grade suspects with nothing beside them, and take away who is done with, until the executor breaks or nobody is left.

    Whoever ends a worker is named, if the executor is new, or if it happens again in one that goes on; else the suspect stays, and
    is tried in a new one: what was there before may have done it.
    """
    lost = 0
    while suspects:
        work, whole = work_of(suspects[0]), True
        try:
            found = list(map(_done, executor.submit(grade_bundle, (work,), ALONE.at_once, ALONE.stretch).result()))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            whole = not isinstance(error, BrokenExecutor)
            lost += 1
            if not new and lost < LOSSES:
                if whole:
                    continue
                return
            found = list(_broken([work], error))
        suspects.popleft()
        yield from found
        if not whole:
            return
        new, lost = False, 0


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
    """Small bundles first, so that something is seen soon, then larger ones, then small ones again.

    None but the first ones is smaller than what a worker plays at once: it would take as long.
    """
    sent = 0
    for number in itertools.count():
        least = crew.at_once if number >= crew.workers else 1
        size = min(LARGEST_BUNDLE, max(least, 4 ** (number // crew.workers)))
        if total:
            size = min(size, max(least, (total - sent) // (2 * crew.workers)))
        sent += size
        yield size


def _broken(bundle: Sequence[Work], error: BaseException) -> Iterator[Done]:
    for work in bundle:
        yield Done(work.student, None, None, f"the grader's own process failed: {error!r}", broken=True)


def _done(result: Result) -> Done:
    if result.trouble:
        return Done(result.student, None, None, result.trouble)
    from nbformat import NotebookNode  # once a result is there: whoever hands out the work does not wait for it

    notebook = json.loads(result.notebook, object_hook=NotebookNode)  # plain data: no second walk through all of it
    return Done(result.student, Report.from_json(json.loads(result.report)), notebook, text=result.report)
