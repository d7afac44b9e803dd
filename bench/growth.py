"""How grading grows with the class and with the workers: the real scheduler, on workers and a clock that are simulated.

`grade_all` and `grade_many` of `autograder/grading/pool.py` run as they are: they cut the class into bundles, keep some ahead, take
results as they come, and the loop around them records in batches as `autograder grade` does. What is simulated is the executor, and
time is a number. A worker does with a bundle what `autograder/grading/worker.py` does: as many notebooks as it was told to play at
once, each in a kernel and so on a processor of its own, and those that were played are judged one after the other; each takes what
submissions were measured to take. A worker begins with two processes that import torch. Where more is to be done at once than there
are processors, all goes on at a slower pace. Not simulated: memory, disks, networks, a worker that dies, and that the thread which
judges and the one which speaks with the kernels hinder each other.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest.mock import patch

from autograder.commands.grade_class import is_batch
from autograder.grading import pool
from autograder.grading.pool import MORE_THAN_ONE, Crew, grade_all
from autograder.grading.worker import WAITING, Result, Work
from autograder.sandbox.policy import Limits

STARTS = 2  # processes that a worker begins with: itself, and its template


@dataclass(frozen=True)
class Times:
    """What was measured: seconds of each submission in its kernel and at the judge, and of the rest.

    After all of them were used, their later half is used again and again: the first ones bore what is done once for a class.
    """

    play_s: Sequence[float]
    judge_s: Sequence[float]
    record_s: float
    start_s: float = 0.0  # from the command to the first bundle that is sent
    worker_start_s: float = 0.0  # of each of the two processes of a worker, before its first submission

    def of(self, number: int) -> tuple[float, float]:
        """Return how long a submission plays and is judged, by its place in the class."""
        return _again(self.play_s, number), _again(self.judge_s, number)


def _again(measured: Sequence[float], number: int) -> float:
    half = len(measured) // 2
    return (
        measured[number]
        if number < len(measured)
        else measured[half + (number - len(measured)) % (len(measured) - half)]
    )


@dataclass
class _Task:
    """Something that needs one processor for so long, and what comes of it."""

    left_s: float
    then: Callable[[], None]


@dataclass
class _Job:
    """A bundle: who is still to be played, who waits for the judge, how many have not been judged."""

    students: tuple[str, ...]
    at_once: int
    future: Future[tuple[Result, ...]] = field(default_factory=Future)
    unplayed: list[str] = field(init=False)
    playing: int = 0
    played: list[str] = field(default_factory=list)
    judging: bool = False
    unjudged: int = field(init=False)
    starting: int = 0  # processes of its worker that are not ready

    def __post_init__(self) -> None:
        self.unplayed, self.unjudged = list(self.students), len(self.students)

    @property
    def in_hand(self) -> int:
        """How many play, wait for the judge, or are before it."""
        return self.unjudged - len(self.unplayed)


class SimulatedExecutor(Executor):
    """Workers that take time and do nothing; `now_s` is the clock, and it moves only in `spend` and `wait`."""

    def __init__(
        self, workers: int, processors: int, times_of: Callable[[str], tuple[float, float]], worker_start_s: float
    ) -> None:
        self.now_s = 0.0
        self.processors, self.times_of, self.worker_start_s = processors, times_of, worker_start_s
        self._fresh = workers  # workers that have not started yet
        self._idle = 0
        self._queue: list[_Job] = []
        self._tasks: list[_Task] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Take a bundle, to be played so many at once; `fn` is never called."""
        works, at_once, *_ = args
        job = _Job(tuple(work.student for work in works), at_once)
        self._queue.append(job)
        self._assign()
        return job.future

    def wait(self, futures: Collection[Future[Any]], return_when: str) -> Any:
        """Let time go by until one of the futures is done; stands in for `concurrent.futures.wait`."""
        while not any(future.done() for future in futures):
            self._step(None)
        return concurrent.futures.wait(futures, timeout=0, return_when=return_when)

    def spend(self, seconds: float) -> None:
        """Let the process that schedules work for so long, while the workers go on."""
        while seconds > 1e-12:
            seconds -= self._step(seconds)

    def _assign(self) -> None:
        while self._queue and self._idle + self._fresh:
            job = self._queue.pop(0)
            if self._idle:
                self._idle -= 1
                self._play(job)
            else:
                self._fresh -= 1
                job.starting = STARTS
                for _ in range(STARTS):
                    self._tasks.append(_Task(self.worker_start_s, partial(self._started, job)))

    def _started(self, job: _Job) -> None:
        job.starting -= 1
        if not job.starting:
            self._play(job)

    def _play(self, job: _Job) -> None:
        while job.unplayed and job.playing < job.at_once and job.in_hand < job.at_once + WAITING:
            student = job.unplayed.pop(0)
            job.playing += 1
            self._tasks.append(_Task(self.times_of(student)[0], partial(self._played, job, student)))

    def _played(self, job: _Job, student: str) -> None:
        job.playing -= 1
        job.played.append(student)
        self._play(job)
        self._judge(job)

    def _judge(self, job: _Job) -> None:
        if job.played and not job.judging:
            job.judging = True
            self._tasks.append(_Task(self.times_of(job.played.pop(0))[1], partial(self._judged, job)))

    def _judged(self, job: _Job) -> None:
        job.judging = False
        job.unjudged -= 1
        self._play(job)
        self._judge(job)
        if not job.unjudged:
            self._idle += 1
            self._assign()
            job.future.set_result(tuple(Result(student, trouble="simulated") for student in job.students))

    def _step(self, own_s: float | None) -> float:
        """Go on to the next event; return how much of the scheduler's own work was done on the way."""
        pace = min(1.0, self.processors / (len(self._tasks) + (own_s is not None)))
        work_s = min([task.left_s for task in self._tasks] + ([own_s] if own_s is not None else []))
        self.now_s += work_s / pace
        for task in self._tasks:
            task.left_s -= work_s
        ended = [task for task in self._tasks if task.left_s <= 1e-12]
        self._tasks = [task for task in self._tasks if task.left_s > 1e-12]
        for task in ended:
            task.then()
        return work_s


def simulated_s(students: int, workers: int, processors: int, times: Times, at_once: int = MORE_THAN_ONE) -> float:
    """Return how long a class takes from the command to its last record, by the simulated clock."""
    names = [str(number) for number in range(students)]
    executor = SimulatedExecutor(workers, processors, lambda name: times.of(int(name)), times.worker_start_s)

    @contextlib.contextmanager
    def opened(crew: Crew) -> Iterator[Executor]:
        yield executor

    executor.spend(times.start_s)
    waiting = 0
    with patch.object(pool, "wait", executor.wait):
        for number, _ in enumerate(grade_all(names, _work, opened, Crew.of(workers, at_once, processors)), 1):
            waiting += 1
            if is_batch(waiting, students - number):
                executor.spend(waiting * times.record_s)
                waiting = 0
    executor.spend(waiting * times.record_s)
    return executor.now_s


def _work(student: str) -> Work:
    return Work("simulated", "", student, None, "simulated", 0, Limits(), True)


def table(
    sizes: Sequence[int], workers: Sequence[int], times: Times, processors: int | None, at_once: int = MORE_THAN_ONE
) -> list[dict[str, Any]]:
    """Return the simulated runs; `processors` None: as many as workers."""
    rows = []
    for size in sizes:
        for count in workers:
            took_s = simulated_s(size, count, processors or count, times, at_once)
            rows.append(
                {
                    "submissions": size,
                    "workers": count,
                    "at_once": at_once,
                    "processors": processors or count,
                    "wall_s": took_s,
                    "per_minute": 60 * size / took_s,
                    "simulated": True,
                }
            )
    return rows
