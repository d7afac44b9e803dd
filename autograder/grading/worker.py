"""A worker: bundles of submissions come in as data, reports and graded notebooks go out as data.

Theory of operation. The notebooks of a bundle are played by an event loop in a thread of its own, `at_once` at a time, so that a
kernel computes while another one's traces are judged, and none begins while too many wait for the judge: all would have been played
when there is still much to judge, and then only one processor has something to do. Judging stays in the thread that was called: the
alarms of the probe, which the reference and the mistakes run through as well, work in a main thread only. What the reference shows
is computed while the first kernels run. A worker knows one course, its own machine's; a submission that belongs to another version
of it is refused.

Nothing here knows the executor, the gradebook or the class.
"""

from __future__ import annotations

import asyncio
import gc
import json
import platform
import traceback
from collections.abc import Sequence
from concurrent.futures import Future, as_completed
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path

from autograder.errors import AutograderError, CourseError
from autograder.grading.course import CourseLab, find_course, load_course_lab
from autograder.grading.grade import Prepared, conclude, prepare
from autograder.grading.judge import Judge
from autograder.grading.run import Played, in_background, playing
from autograder.grading.submission import UnreadableSubmission
from autograder.grading.version import other_version, version_of
from autograder.grading.work import Result, Work

# Of things that hold others: how many more there may be before Python looks for circles among the new ones. The 700 that are
# usual have it look five times in a submission; this is once in two of them, so garbage of no more than a few waits for it.
NEW_THINGS = 5000
WAITING = 1  # played notebooks that may wait for the judge before the next begins

_course: Path | None = None


def open_course(course: Path | None) -> None:
    """Say which course this worker grades with; without it, it is the one that `find_course` finds."""
    global _course
    _course = course


def grade_bundle(works: Sequence[Work], at_once: int = 1, stretch: float = 1) -> tuple[Result, ...]:
    """Grade some submissions, `at_once` of them at a time, and return their results in their order.

    `stretch` is by how much wall times are longer where kernels share processors.
    """
    found: dict[int, Result] = {}
    played: dict[Future[Played], tuple[int, Work, Prepared, Judge]] = {}

    def conclude_it(future: Future[Played]) -> None:
        number, work, prepared, judge = played.pop(future)
        found[number] = _concluded(work, prepared, judge, future)
        players.done_with_one()

    with _Players(at_once) as players:
        for number, work in enumerate(works):
            try:
                lab, judge = bench(work)
                raw = UnreadableSubmission(work.unreadable) if work.raw is None else work.raw
                prepared = prepare(raw, lab, judge)
            except Exception as error:
                found[number] = _trouble(work, error)
                continue
            future = players.play(work, prepared, judge, stretch)  # its kernel computes while the next is prepared
            try:
                if not prepared.unreadable:
                    judge.get_ready()
            except AutograderError as error:  # the lab's fault: nobody is graded against it or needs to be played
                found[number] = _trouble(work, error)
                future.cancel()
                players.done_with_one()
                continue
            _settle()
            played[future] = number, work, prepared, judge
            for done in [future for future in played if future.done()]:
                conclude_it(done)
        for future in as_completed(list(played)):
            conclude_it(future)
    return tuple(found[number] for number in range(len(works)))


@cache
def _settle() -> None:
    """Keep Python's garbage collector from what stays for good: torch, the lab, what the reference shows.

    To look through all of it takes a tenth of a second each time, and the traces of mistakes, which stay as well, would have it
    done again and again.
    """
    gc.freeze()
    gc.set_threshold(NEW_THINGS, *gc.get_threshold()[1:])


def _concluded(work: Work, prepared: Prepared, judge: Judge, played: Future[Played]) -> Result:
    try:
        graded = conclude(prepared, played.result(), judge, student=work.student, sandboxed=work.sandboxed)
    except Exception as error:
        return _trouble(work, error)
    return Result(work.student, graded.report.text(), json.dumps(graded.notebook))


def _trouble(work: Work, error: Exception) -> Result:
    """Our own failure with one submission, which stops no other; an error that nobody foresaw says where it was raised."""
    if isinstance(error, AutograderError):
        return Result(work.student, trouble=str(error))
    where = traceback.extract_tb(error.__traceback__)[-1]
    told = f"the grader failed on it: {error!r} ({Path(where.filename).name}, line {where.lineno})"
    return Result(work.student, trouble=told)


def bench(work: Work) -> tuple[CourseLab, Judge]:
    """Return what all submissions with one lab and seed share.

    Raises:
        CourseError: this worker's course, or its grader, is not the one that the submission is to be graded with.
        UsageError: it has no such lab.
    """
    course = _course or find_course()
    lab, judge = _bench(course, work.lab, work.seed)
    other = other_version(work.lab, course, _version(course, work.lab), work.version)
    if other:
        raise CourseError(f"The worker on {platform.node()} does not grade: {other}")
    return lab, judge


@lru_cache(maxsize=4)
def _bench(course: Path, lab: str, seed: int) -> tuple[CourseLab, Judge]:
    loaded = load_course_lab(course, lab)
    return loaded, Judge(loaded.lab, seed)


@lru_cache(maxsize=16)
def _version(course: Path, lab: str) -> str:
    return version_of(course, lab)


class _Players:
    """Plays notebooks in the background, so many at a time; what still runs when the block is left early is ended."""

    def __init__(self, at_once: int) -> None:
        self._room = asyncio.Semaphore(at_once)
        self._in_hand = asyncio.Semaphore(at_once + WAITING)
        self._all: list[Future[Played]] = []

    def __enter__(self) -> _Players:
        return self

    def __exit__(self, *_: object) -> None:
        for future in self._all:
            future.cancel()

    def play(self, work: Work, prepared: Prepared, judge: Judge, stretch: float) -> Future[Played]:
        """Begin, or queue, one submission."""
        limits = replace(work.limits, stretch=work.limits.stretch * stretch)

        async def one() -> Played:
            if prepared.unreadable:
                return Played()
            await self._in_hand.acquire()
            async with self._room:
                return await playing(prepared.items, judge, limits, sandboxed=work.sandboxed)

        self._all.append(in_background(one()))
        return self._all[-1]

    def done_with_one(self) -> None:
        """Say that one has been judged, or will not be: the next may begin."""

        async def release() -> None:
            self._in_hand.release()

        in_background(release())
