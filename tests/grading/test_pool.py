"""Many submissions on any executor: each gets its own result, and our own trouble is never a student's zero."""

from __future__ import annotations

import itertools
import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from autograder.errors import CourseError, SandboxError
from autograder.grading import pool, worker
from autograder.grading.pool import AHEAD, ALONE, LARGEST_BUNDLE, Crew, Done, Work, grade_all, grade_many, processes
from autograder.grading.reading import node
from autograder.grading.report import Report
from autograder.grading.work import Result
from autograder.kernel import launch
from autograder.sandbox.policy import Limits

ROOT = Path(__file__).resolve().parents[2]
LAB = "lab01_batch_norm"
CLASS = [f"student {number:02}" for number in range(40)]


def work(student: str, why: str = "The file is a picture of a cat.", lab: str = LAB) -> Work:
    """A submission that needs no kernel: there is nothing to run in it."""
    return Work(lab, worker._version(ROOT, lab), student, None, why, 5, Limits(), True)


class Here(Executor):
    """The smallest executor: everything happens at once, in this process."""

    def submit(self, call: Callable[..., Any], /, *args: Any, **words: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(call(*args, **words))
        except BaseException as error:
            future.set_exception(error)
        return future


@pytest.mark.parametrize("executor", [Here, lambda: ThreadPoolExecutor(2)], ids=["here", "threads"])
@pytest.mark.parametrize("crew", [ALONE, Crew(2, 3)], ids=str)
def test_any_executor_will_do(executor: Callable[[], Executor], crew: Crew) -> None:
    """Each student's report and graded notebook come back, whatever the order."""
    with executor() as running:
        found = {done.student: done for done in grade_many(map(work, ("ada", "bela", "chen")), running, crew)}
    assert set(found) == {"ada", "bela", "chen"}
    for student, done in found.items():
        assert done.trouble == ""
        assert done.graded is not None
        assert done.report is not None
        assert (done.report.student, done.report.seed, done.report.points) == (student, 5, 0)
        assert done.report.max_points > 62
        assert done.report.notes == ("The file is a picture of a cat.",)


class Breaks(Here):
    """A pool that ends, with all that it holds, when it is given somebody's work; or a worker that does."""

    def __init__(self, killer: str = "bela", error: type[Exception] = BrokenProcessPool) -> None:
        self.killer, self.error, self.broken = killer, error, False

    def submit(self, call: Callable[..., Any], /, *args: Any, **words: Any) -> Future[Any]:
        if self.broken:
            raise BrokenProcessPool("a process in the pool died before")
        if not any(work.student == self.killer for work in args[0]):
            return super().submit(call, *args, **words)
        self.broken = self.error is BrokenProcessPool
        future: Future[Any] = Future()
        future.set_exception(self.error("a process in the pool died"))
        return future


def test_a_notebook_comes_back_as_nbformat_reads_one() -> None:
    """All through, or nbgrader would not find what it asks for by a dot; a key that comes twice counts once, as always."""
    text = '{"cells": [{"metadata": {"a": {}, "a": {"b": [[{}], 1, null]}}, "outputs": [{"data": {"c": "d"}}]}], "metadata": {}}'
    report = Report("lab", "ada", 5, 1.0, 2.0, (), notes=("n",))
    done = pool._done(Result("ada", report.text(), text))
    wanted = node(json.loads(text))
    assert done.notebook == wanted
    assert done.report == report
    assert _kinds(done.notebook) == _kinds(wanted)


def _kinds(given: Any) -> Any:
    """Return the types of a value and of all that is in it."""
    inner = given.values() if isinstance(given, dict) else given if isinstance(given, list) else ()
    return type(given), [_kinds(part) for part in inner]


def test_a_worker_that_dies_is_no_grade() -> None:
    """Not a zero: there is no report; and the others are graded."""
    students = map(work, ("ada", "bela", "chen"))
    found = {done.student: done for done in grade_many(students, Breaks(error=OSError), total=3)}
    assert found["bela"] == Done("bela", None, None, found["bela"].trouble, broken=True)
    assert "the grader's own process failed: OSError" in found["bela"].trouble
    assert found["bela"].graded is None
    assert found["ada"].graded is not None
    assert found["chen"].graded is not None


@pytest.mark.parametrize("error", [BrokenProcessPool, OSError], ids=["the whole pool", "one worker"])
@pytest.mark.parametrize("crew", [ALONE, Crew(3, 2)], ids=str)
@pytest.mark.parametrize("killer", [CLASS[0], CLASS[17], CLASS[-1]])
def test_a_submission_that_ends_its_worker_costs_no_other_its_grade(
    error: type[Exception], crew: Crew, killer: str
) -> None:
    """Everybody has one result; whom a broken pool held is graded alone; only the killer stays without."""
    found = list(grade_all(CLASS, work, lambda _: Breaks(killer, error), crew))
    assert sorted(done.student for done in found) == CLASS
    assert [done.student for done in found if done.graded is None] == [killer]


class Opener:
    """Opens executors like `Breaks` and counts them; some submissions are deadly, wherever and whenever they run."""

    def __init__(self, killers: set[str], error: type[Exception], late: str = "") -> None:
        self.killers, self.error, self.late = killers, error, late
        self.crews: list[Crew] = []
        self.alone: list[tuple[int, str]] = []  # the number of the executor, and who was given to it without company

    def __call__(self, crew: Crew) -> Executor:
        self.crews.append(crew)
        return Opened(self, len(self.crews))


class Opened(Here):
    """One executor of an `Opener`; a late one has its worker die with the next submission after it, if there is any."""

    def __init__(self, opener: Opener, number: int) -> None:
        self.opener, self.number, self.broken, self.dying = opener, number, False, False

    def submit(self, call: Callable[..., Any], /, *args: Any, **words: Any) -> Future[Any]:
        if self.broken:
            raise BrokenProcessPool("a process in the pool died before")
        students = {work.student for work in args[0]}
        if len(students) == 1 and len(self.opener.crews) > 0:
            self.opener.alone += [(self.number, *students)]
        if not students & self.opener.killers and not self.dying:
            self.dying = self.opener.late in students
            return super().submit(call, *args, **words)
        self.broken = self.opener.error is BrokenProcessPool
        future: Future[Any] = Future()
        future.set_exception(self.opener.error("a worker died"))
        return future


CREW = Crew(2, 2)


def test_suspects_share_a_pool_and_a_deadly_one_costs_a_new_one() -> None:
    """Of sixteen or so whom the broken pool held, one is deadly: three pools are opened after it, not one for each."""
    opener = Opener({CLASS[20]}, BrokenProcessPool)
    found = {done.student: done for done in grade_all(CLASS, work, opener, CREW)}
    assert sorted(found) == CLASS
    assert [student for student in CLASS if found[student].graded is None] == [CLASS[20]]
    assert "a worker died" in found[CLASS[20]].trouble
    # The class; what was left of it, and there the first suspects up to the deadly one; it alone; the other suspects.
    assert opener.crews == [CREW, CREW, ALONE, ALONE]


@pytest.mark.parametrize("error", [BrokenProcessPool, OSError], ids=["the whole pool", "one worker"])
@pytest.mark.parametrize("killers", [CLASS[3:5], CLASS[::7], CLASS[-3:], CLASS], ids=["two", "some", "the last", "all"])
def test_each_of_several_deadly_submissions_is_named_and_nobody_else(
    error: type[Exception], killers: list[str]
) -> None:
    found = list(grade_all(CLASS, work, opener := Opener(set(killers), error), CREW))
    assert sorted(done.student for done in found) == CLASS
    if killers != CLASS:
        assert sorted(done.student for done in found if done.graded is None) == killers
    assert all(done.trouble for done in found if done.graded is None)
    assert len(opener.crews) <= 1 + 3 * len(killers)


@pytest.mark.parametrize("killers", [CLASS[20:21], CLASS[::7]], ids=["one", "some"])
def test_an_executor_that_goes_on_without_a_worker_is_not_opened_again(killers: list[str]) -> None:
    """A cluster gives a lost grader's place to a new one: no others need to begin for the sake of suspects."""
    opener = Opener(set(killers), OSError)
    assert sorted(done.student for done in grade_all(CLASS, work, opener, CREW) if not done.graded) == killers
    assert opener.crews == [CREW]


@pytest.mark.parametrize("late", CLASS[::3])
def test_who_is_there_when_a_worker_dies_of_an_earlier_one_is_not_blamed(late: str) -> None:
    """What one submission left behind ends the worker of the next: in a new one that next one is graded."""
    found = list(grade_all(CLASS, work, Opener(set(), BrokenProcessPool, late), CREW))
    assert sorted(done.student for done in found) == CLASS
    assert [done.student for done in found if done.graded is None] == []


def test_suspects_are_graded_without_company() -> None:
    """Else one deadly submission would make suspects of others for ever."""
    opener = Opener({CLASS[20]}, BrokenProcessPool)
    list(grade_all(CLASS, work, opener, CREW))
    assert (3, CLASS[20]) in opener.alone
    assert len({student for number, student in opener.alone if number > 1}) >= 4


def test_pools_that_all_break_are_not_tried_for_ever() -> None:
    """When no worker can live here, that is said for everybody, after two tries."""
    opened: Counter[str] = Counter()

    class Dead(Here):
        def __init__(self) -> None:
            opened["pools"] += 1

        def submit(self, *_: Any, **__: Any) -> Future[Any]:
            raise BrokenProcessPool("no process of the pool lives")

    found = list(grade_all(CLASS, work, lambda _: Dead(), Crew(2)))
    assert sorted(done.student for done in found) == CLASS
    assert all(done.trouble and done.graded is None for done in found)
    assert opened["pools"] == 4  # two for the class, and each of the two that they were given alone


@pytest.mark.parametrize(
    ("count", "processors", "crew"),
    [
        (1, 8, Crew(1, 3, 1, 1)),
        (100, 1, Crew(1, 2, 2, 1)),
        (10, 2, Crew(1, 3, 1.5, 1)),
        (100_000, 2, Crew(1, 3, 1.5, 1)),
        (100, 3, Crew(2, 3, 2, 1)),
        (100, 8, Crew(4, 3, 1.5, 4)),
        (100_000, 8, Crew(4, 3, 1.5, 4)),
        (3, 8, Crew(3, 3, 1.125, 3)),
    ],
)
def test_a_crew_fits_the_class_and_the_machine(count: int, processors: int, crew: Crew) -> None:
    """A worker keeps two processors busy, and its start costs as much as some submissions."""
    assert Crew.fitting(count, processors) == crew


@pytest.mark.parametrize(
    ("workers", "at_once", "crew"),
    [(1, None, Crew(1, 3, 1, 1)), (4, None, Crew(4, 2, 2, 2)), (9, None, Crew(9, 2, 4.5, 2)), (4, 5, Crew(4, 5, 5, 2))],
)
def test_what_somebody_asks_for_is_what_there_is(workers: int, at_once: int | None, crew: Crew) -> None:
    assert Crew.fitting(50, 4, workers, at_once) == crew


@pytest.mark.parametrize(("workers", "first"), [(1, 1), (2, 1), (3, 1), (8, 4)])
def test_half_of_the_workers_begin_and_the_others_after_a_first_result(
    monkeypatch: pytest.MonkeyPatch, workers: int, first: int
) -> None:
    """All of them at once would keep each other from importing torch; and nobody waits for who takes the results."""
    held: list[int] = []

    def noting(waiting: Any, **words: Any) -> Any:
        held.append(len(waiting))
        return wait(waiting, **words)

    monkeypatch.setattr(pool, "wait", noting)
    results = grade_many(map(work, map(str, itertools.count())), counting := Counting(), Crew(workers))
    next(results)
    assert counting.given == first + AHEAD * workers, "the next bundles go out before a result is handed over"
    for _ in itertools.islice(results, 4 * first):
        pass
    assert held[:2] == [first, AHEAD * workers]


class Counting(Here):
    """It knows how many bundles it was given."""

    given = 0

    def submit(self, call: Callable[..., Any], /, *args: Any, **words: Any) -> Future[Any]:
        self.given += 1
        return super().submit(call, *args, **words)


@pytest.mark.parametrize(("crew", "total"), [(ALONE, 0), (ALONE, 40), (Crew(4, 2), 0), (Crew(4, 2), 1000)], ids=str)
def test_work_is_read_only_as_it_is_needed(crew: Crew, total: int) -> None:
    """Ten thousand notebooks are never in memory at once."""
    read = 0

    def works() -> Iterator[Work]:
        nonlocal read
        for number in itertools.count():
            read += 1
            yield work(str(number))

    for given, _ in enumerate(itertools.islice(grade_many(works(), Here(), crew, total), 100)):
        assert read - given <= 5 * crew.workers * LARGEST_BUNDLE


class Sizes(Here):
    """Notes how many come at once."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def submit(self, call: Callable[..., Any], /, *args: Any, **words: Any) -> Future[Any]:
        self.seen.append(len(args[0]))
        return super().submit(call, *args, **words)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_bundles_are_small_at_both_ends(workers: int) -> None:
    """So that the first result comes soon, and no worker waits long for the last one."""
    executor = Sizes()
    assert len(list(grade_many(map(work, CLASS), executor, Crew(workers, 2), len(CLASS)))) == len(CLASS)
    assert executor.seen[:workers] == [1] * workers
    assert executor.seen[-1] <= 2, "no more than a worker plays at once"
    assert max(executor.seen) == {1: 16, 2: 7, 5: 3}[workers]


@pytest.mark.parametrize(
    "error", [SandboxError("no sandbox"), CourseError("no course"), RuntimeError("a bug"), MemoryError()]
)
def test_trouble_of_ours_is_no_grade(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Whatever it is, it is told, and it costs nobody else of the same bundle a grade."""
    conclude = worker.conclude

    def fails(*given: Any, student: str, **words: Any) -> Any:
        if student == "bela":
            raise error
        return conclude(*given, student=student, **words)

    monkeypatch.setattr(worker, "conclude", fails)
    found = worker.grade_bundle([work(student) for student in ("ada", "bela", "chen")])
    assert [result.student for result in found] == ["ada", "bela", "chen"]
    assert [bool(result.trouble) for result in found] == [False, True, False]
    assert str(error) in found[1].trouble
    assert found[1].report == ""


def test_a_lab_that_is_not_there_is_no_grade() -> None:
    """A work item names it; the worker finds out."""
    [done] = grade_many([work("ada", lab="lab99")], Here())
    assert done.graded is None
    assert "There is no lab 'lab99'" in done.trouble


def test_nothing_to_do_is_nothing() -> None:
    """An empty class."""
    assert list(grade_many([], Here())) == []
    assert list(grade_all([], work, lambda _: Here(), ALONE)) == []


def end_of_this_process(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_real_processes_break_and_are_replaced() -> None:
    """The pool that the course uses: one of its processes is killed, the others' work is done in new ones."""

    class OneDies:
        tried = 0

        def __call__(self, crew: Crew) -> ProcessPoolExecutor:
            executor = processes(crew.workers, ROOT)
            self.tried += 1
            if self.tried == 1:
                executor.submit(end_of_this_process)
            return executor

    open_crew = OneDies()
    found = list(grade_all(CLASS[:6], work, open_crew, Crew(2)))
    assert sorted(done.student for done in found) == CLASS[:6]
    assert all(done.graded is not None for done in found)
    assert open_crew.tried > 1


def folder_of_the_template() -> str:
    """Where the kernels of this worker would have their folders."""
    made = launch.template()
    assert made is not None
    return str(made.folder.path)


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_worker_has_a_template_and_takes_it_along() -> None:
    """Begun at its start; and gone with it, although it is no process that runs what others do at their end."""
    with processes(1, ROOT) as executor:
        folder = Path(executor.submit(folder_of_the_template).result())
        assert folder.is_dir()
    assert not folder.exists()
