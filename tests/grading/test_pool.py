"""Many submissions on any executor: each gets its own result, and our own trouble is never a student's zero."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from autograder.errors import CourseError, SandboxError
from autograder.grading import pool
from autograder.grading.pool import Done, Work, grade_many
from autograder.sandbox.policy import Limits

ROOT = Path(__file__).resolve().parents[2]
LAB = "lab01_batch_norm"


def work(student: str, why: str = "The file is a picture of a cat.", lab: str = LAB) -> Work:
    """A submission that needs no kernel: there is nothing to run in it."""
    return Work(str(ROOT), lab, student, None, why, 5, Limits(), True)


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
def test_any_executor_will_do(executor: Callable[[], Executor]) -> None:
    """Each student's report and graded notebook come back, whatever the order."""
    with executor() as running:
        found = {done.student: done for done in grade_many([work(name) for name in ("ada", "bela", "chen")], running)}
    assert set(found) == {"ada", "bela", "chen"}
    for student, done in found.items():
        assert done.trouble == ""
        assert done.graded is not None
        assert done.report is not None
        assert (done.report.student, done.report.seed, done.report.points) == (student, 5, 0)
        assert done.report.max_points > 62
        assert done.report.notes == ("The file is a picture of a cat.",)


class Breaks(Here):
    """One of its workers dies."""

    def submit(self, call: Callable[..., Any], /, *args: Any, **words: Any) -> Future[Any]:
        if args[0].student != "bela":
            return super().submit(call, *args, **words)
        future: Future[Any] = Future()
        future.set_exception(BrokenProcessPool("a process in the pool died"))
        return future


def test_a_worker_that_dies_is_no_grade() -> None:
    """Not a zero: there is no report; and the others are graded."""
    found = {done.student: done for done in grade_many([work("ada"), work("bela"), work("chen")], Breaks())}
    assert found["bela"] == Done("bela", None, None, found["bela"].trouble, broken=True)
    assert "the grader's own process failed: BrokenProcessPool" in found["bela"].trouble
    assert found["bela"].graded is None
    assert found["ada"].graded is not None
    assert found["chen"].graded is not None


@pytest.mark.parametrize(
    "error", [SandboxError("no sandbox"), CourseError("no course"), RuntimeError("a bug"), MemoryError()]
)
def test_trouble_of_ours_is_no_grade(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Whatever it is, it is told, and nobody has a report."""

    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(pool, "grade_notebook", fails)
    [done] = grade_many([work("ada")], Here())
    assert done.graded is None
    assert done.report is None
    assert str(error) in done.trouble
    assert done.trouble != ""


def test_a_lab_that_is_not_there_is_no_grade() -> None:
    """A work item names it; the worker finds out."""
    [done] = grade_many([work("ada", lab="lab99")], Here())
    assert done.graded is None
    assert "There is no lab 'lab99'" in done.trouble


def test_nothing_to_do_is_nothing() -> None:
    """An empty class."""
    assert list(grade_many([], Here())) == []
