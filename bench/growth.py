"""How grading grows with the class and with the workers: the real scheduler, on workers and a clock that are simulated.

`grade_all` and `grade_many` of `autograder/grading/pool.py` run as they are: they cut the class into bundles, keep some ahead, take
results as they come, and the loop around them records in batches as `autograder grade` does. What is simulated is the executor: a
worker "takes" for a bundle what its submissions were measured to take, and time is a number. Where more is to be done at once than
there are processors, all goes on at a slower pace. Not simulated: memory, disks, networks, a worker that dies.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from autograder.commands.grade_class import BATCH
from autograder.grading import pool
from autograder.grading.pool import Crew, grade_all
from autograder.grading.worker import Result, Work
from autograder.sandbox.policy import Limits


@dataclass(frozen=True)
class Times:
    """What was measured: seconds of each submission in a worker (used again and again), to record one, and to start."""

    service_s: Sequence[float]
    record_s: float
    start_s: float = 0.0  # from the command to the first bundle that is sent
    worker_start_s: float = 0.0  # of each worker, before its first submission

    def of(self, number: int) -> float:
        """Return the seconds of a submission by its place in the class."""
        return self.service_s[number % len(self.service_s)]


@dataclass
class _Job:
    left_s: float
    students: tuple[str, ...]
    future: Future[tuple[Result, ...]] = field(default_factory=Future)


class SimulatedExecutor(Executor):
    """Workers that take time and do nothing; `now_s` is the clock, and it moves only in `spend` and `wait`."""

    def __init__(self, workers: int, processors: int, service_s: Callable[[str], float], worker_start_s: float) -> None:
        self.now_s = 0.0
        self.processors, self.service_s, self.worker_start_s = processors, service_s, worker_start_s
        self._fresh = workers  # workers that have not started yet
        self._idle = 0
        self._queue: list[_Job] = []
        self._busy: list[_Job] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Take a bundle; `fn` is never called."""
        students = tuple(work.student for work in args[0])
        job = _Job(sum(self.service_s(student) for student in students), students)
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
            else:
                self._fresh -= 1
                job.left_s += self.worker_start_s
            self._busy.append(job)

    def _step(self, own_s: float | None) -> float:
        """Go on to the next event; return how much of the scheduler's own work was done on the way."""
        pace = min(1.0, self.processors / (len(self._busy) + (own_s is not None)))
        work_s = min([job.left_s for job in self._busy] + ([own_s] if own_s is not None else []))
        self.now_s += work_s / pace
        for job in self._busy:
            job.left_s -= work_s
        ended = [job for job in self._busy if job.left_s <= 1e-12]
        self._busy = [job for job in self._busy if job.left_s > 1e-12]
        self._idle += len(ended)
        self._assign()
        for job in ended:
            job.future.set_result(tuple(Result(student, trouble="simulated") for student in job.students))
        return work_s


def simulated_s(students: int, workers: int, processors: int, times: Times, at_once: int = 2) -> float:
    """Return how long a class takes from the command to its last record, by the simulated clock."""
    names = [str(number) for number in range(students)]
    executor = SimulatedExecutor(workers, processors, lambda name: times.of(int(name)), times.worker_start_s)

    @contextlib.contextmanager
    def opened(crew: Crew) -> Iterator[Executor]:
        yield executor

    executor.spend(times.start_s)
    waiting = 0
    with patch.object(pool, "wait", executor.wait):
        for _ in grade_all(names, _work, opened, Crew.of(workers, at_once, processors)):
            waiting += 1
            if waiting == BATCH:
                executor.spend(waiting * times.record_s)
                waiting = 0
    executor.spend(waiting * times.record_s)
    return executor.now_s


def _work(student: str) -> Work:
    return Work("simulated", "", student, None, "simulated", 0, Limits(), True)


def table(sizes: Sequence[int], workers: Sequence[int], times: Times, processors: int | None) -> list[dict[str, Any]]:
    """Return the simulated runs; `processors` None gives each worker one, and the recording process one."""
    rows = []
    for size in sizes:
        for count in workers:
            took_s = simulated_s(size, count, processors or count + 1, times)
            rows.append(
                {
                    "submissions": size,
                    "workers": count,
                    "processors": processors or count + 1,
                    "wall_s": took_s,
                    "per_minute": 60 * size / took_s,
                    "simulated": True,
                }
            )
    return rows
