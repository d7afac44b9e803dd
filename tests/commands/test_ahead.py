"""Workers begin before there is work for them, and get none before the release and the gradebook are there."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from autograder.cli import main
from autograder.commands import grade_class
from autograder.commands.ahead import ahead
from autograder.errors import CourseError
from autograder.grading.pool import Crew
from autograder.plugins.record import Recorder
from tests.plugins.conftest import LAB, Course, course_template
from tests.submissions import odd

__all__ = ["course_template"]
TWO = Crew(workers=4)  # of which two begin


class Told(Executor):
    """Notes what it is given, and does nothing until it is let."""

    def __init__(self, events: list[str], number: int, let: Event) -> None:
        self.events, self.number, self.let = events, number, let

    def submit(self, call: Callable[..., Any], /, *args: Any, **words: Any) -> Future[Any]:
        name = "begin" if call is int else "work"
        self.events.append(f"{name} {self.number}")
        future: Future[Any] = Future()
        if name == "begin" and not self.let.is_set():
            self.let.future = future  # type: ignore[attr-defined]
        else:
            future.set_result(call(*args, **words) if name == "begin" else ())
        return future


def opener(events: list[str], let: Event | None = None) -> Callable[[Crew], AbstractContextManager[Executor]]:
    """Return what opens such executors, numbered."""
    started = let or Event()
    if let is None:
        started.set()

    @contextmanager
    def opened(crew: Crew) -> Iterator[Executor]:
        number = sum(event.startswith("open") for event in events)
        events.append(f"open {number} for {crew.workers}")
        try:
            yield Told(events, number, started)
        finally:
            events.append(f"close {number}")

    return opened


def test_the_first_crew_that_is_asked_for_is_the_one_that_has_begun_and_the_next_is_new() -> None:
    events: list[str] = []
    with ahead(opener(events), TWO) as opens:
        with opens(Crew(workers=3)) as first:
            events.append("first")
            assert isinstance(first, Told)
            assert first.number == 0
        with opens(Crew(workers=1)) as second:
            events.append("second")
            assert isinstance(second, Told)
            assert second.number == 1
    assert events == (["open 0 for 4", "begin 0", "begin 0", "first", "close 0", "open 1 for 1", "second", "close 1"])


def test_a_crew_that_nobody_asks_for_is_closed_whatever_happens() -> None:
    events: list[str] = []
    with pytest.raises(CourseError), ahead(opener(events), Crew()):
        raise CourseError("nbgrader does not take the lab")
    assert "close 0" in events


def test_a_crew_is_given_when_its_workers_have_begun() -> None:
    """To one that is not idle yet, an executor of processes would add another for the first submission."""
    events: list[str] = []
    let = Event()
    with ahead(opener(events, let), Crew()) as opens:
        while not hasattr(let, "future"):
            let.wait(0.01)
        first: Future[int] = let.future

        def take() -> None:
            with opens(Crew()):
                events.append("given")

        taking = Thread(target=take)
        taking.start()
        taking.join(0.2)
        assert "given" not in events
        first.set_result(0)
        taking.join(10)
    assert events == ["open 0 for 1", "begin 0", "given", "close 0"]


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    "error", [BrokenProcessPool("it broke"), RuntimeError("it is shut down"), OSError("no more processes")]
)
def test_an_executor_that_is_broken_says_so_to_whoever_gives_it_work(error: Exception) -> None:
    class Broken(Executor):
        def submit(self, call: Callable[..., Any], /, *args: Any, **words: Any) -> Future[Any]:
            raise error

    @contextmanager
    def opened(crew: Crew) -> Iterator[Executor]:
        yield Broken()

    with ahead(opened, TWO) as opens, opens(TWO) as given, pytest.raises(type(error)):
        given.submit(len, ())


@pytest.fixture
def events(course_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happens in a course of one student when its class is graded by workers that do nothing."""
    shutil.copytree(course_template, tmp_path / "course")
    course = Course(tmp_path / "course")
    course.submit("ann", odd.solved())
    monkeypatch.chdir(course.root)
    happened: list[str] = []
    prepare = Recorder.prepare

    def prepared(self: Recorder) -> None:
        happened.append("prepare")
        prepare(self)
        happened.append("prepared")

    def opened(given: argparse.Namespace, course: Path, crew: Crew) -> AbstractContextManager[Executor]:
        return opener(happened)(crew)

    monkeypatch.setattr(Recorder, "prepare", prepared)
    monkeypatch.setattr(grade_class, "opened", opened)
    return happened


def test_no_worker_gets_work_before_the_release_is_made(events: list[str]) -> None:
    """nbgrader makes it anew; a worker that reads the folder meanwhile finds nothing."""
    assert main(["grade", LAB, "--no-sandbox", "--jobs=2"]) == 0
    assert sorted(events[:3]) == ["begin 0", "open 0 for 1", "prepare"]
    assert events[3:] == ["prepared", "work 0", "close 0"]


def test_no_worker_begins_when_nobody_has_handed_in_anything_new(events: list[str]) -> None:
    assert main(["grade", LAB, "--no-sandbox"]) == 0
    ledger = Path("reports") / f"{LAB}.ledger.json"
    ledger.write_text(
        '{"open_seed": null, "entries": {"ann": {"content": "", "version": "", "limits": "", "seed": 1}}}'
    )
    events.clear()
    assert main(["grade", LAB, "--no-sandbox"]) == 0
    assert events[:2] == ["prepare", "prepared"]  # it has changed, which is seen only then
    assert "begin 1" not in events


@pytest.mark.parametrize("words", [("--again",), ("--student=ann",)])
def test_workers_begin_at_once_for_those_who_are_named(events: list[str], words: tuple[str, ...]) -> None:
    ledger = Path("reports") / f"{LAB}.ledger.json"
    ledger.parent.mkdir()
    ledger.write_text(
        '{"open_seed": null, "entries": {"ann": {"content": "", "version": "", "limits": "", "seed": 1}}}'
    )
    assert main(["grade", LAB, "--no-sandbox", *words]) == 0
    assert "begin 0" in events[: events.index("prepared")]
