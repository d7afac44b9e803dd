"""A worker plays several notebooks at once, judges them one by one, and grades with its own course's version only."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autograder.errors import CourseError
from autograder.grading import worker
from autograder.grading.judge import Judge
from autograder.grading.run import SWITCH_S, Item, Played, in_background
from autograder.grading.version import version_of
from autograder.grading.worker import Work, grade_bundle
from autograder.sandbox.policy import Limits

ROOT = Path(__file__).resolve().parents[2]
LAB = "lab01_batch_norm"
NOTEBOOK = b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
WORK = Work(LAB, version_of(ROOT, LAB), "ada", NOTEBOOK, "", 5, Limits(), True)
FOUR = [replace(WORK, student=student) for student in ("ada", "bela", "chen", "dora")]


class Stage:
    """Plays nothing, and counts how many are on it at once."""

    def __init__(self) -> None:
        self.now = self.most = self.begun = 0
        self.stretch: set[float] = set()
        self.threads: set[int] = set()

    async def play(self, items: Sequence[Item], judge: Judge, limits: Limits, *, sandboxed: bool) -> Played:
        """Stay for a moment."""
        self.now += 1
        self.begun += 1
        self.most = max(self.most, self.now)
        self.stretch.add(limits.stretch)
        self.threads.add(threading.get_ident())
        await asyncio.sleep(0.05)
        self.now -= 1
        return Played(notes=["The cat was here."])


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    """In the place of kernels."""
    mine = Stage()
    monkeypatch.setattr(worker, "playing", mine.play)
    return mine


@pytest.mark.parametrize(("at_once", "most"), [(1, 1), (2, 2), (3, 3), (9, 4)])
def test_so_many_are_played_at_once_and_no_more(stage: Stage, at_once: int, most: int) -> None:
    found = grade_bundle(FOUR, at_once)
    assert stage.most == most
    assert [result.student for result in found] == ["ada", "bela", "chen", "dora"]
    assert all("The cat was here." in result.report for result in found)


def test_what_stays_for_good_is_kept_from_the_garbage_collector(stage: Stage) -> None:
    """Torch and the lab are a hundred thousand objects and more, which a class would have looked through several times."""
    gc.unfreeze()
    worker._settle.cache_clear()
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    try:
        grade_bundle(FOUR[:1])
        assert gc.get_freeze_count() > 100_000
        assert gc.get_threshold() == (worker.NEW_THINGS, 10, 10), "it looks as before, only less often"
    finally:
        gc.set_threshold(*before)


@pytest.mark.parametrize("at_once", [1, 2, 4])
def test_nobody_is_played_while_too_many_wait_for_the_judge(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """Else all would be played at the end, with only one processor's worth of judging left."""
    conclude, judged, waiting = worker.conclude, 0, []

    def slow(*given: Any, **words: Any) -> Any:
        nonlocal judged
        time.sleep(0.2)
        waiting.append(stage.begun - judged)
        judged += 1
        return conclude(*given, **words)

    monkeypatch.setattr(worker, "conclude", slow)
    twelve = [replace(WORK, student=str(number)) for number in range(12)]
    assert len(grade_bundle(twelve, at_once)) == 12
    assert max(waiting) == at_once + worker.WAITING


def test_judging_stays_in_the_thread_that_was_called(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alarms ring in a main thread only; kernels are spoken to in another."""
    where: set[int] = set()
    conclude = worker.conclude

    def noting(*given: Any, **words: Any) -> Any:
        where.add(threading.get_ident())
        return conclude(*given, **words)

    monkeypatch.setattr(worker, "conclude", noting)
    grade_bundle(FOUR, 2)
    assert where == {threading.get_ident()}
    assert not stage.threads & where


def test_kernels_are_heard_soon_while_something_is_judged() -> None:
    """Python hands over between threads after 5 ms otherwise, and each answer of a kernel waits for that."""
    in_background(asyncio.sleep(0)).result()  # the thread that speaks with kernels is there
    assert sys.getswitchinterval() == pytest.approx(SWITCH_S)
    assert SWITCH_S < 0.005


@pytest.mark.parametrize(("given", "stretch"), [(1, 1), (2, 2), (1.5, 1.5)])
def test_wall_times_are_longer_where_kernels_share_a_processor(stage: Stage, given: float, stretch: float) -> None:
    """Else a cell that is well within its time alone would be stopped in company."""
    grade_bundle(FOUR[:1], 1, given)
    assert stage.stretch == {stretch}


def test_another_version_is_refused_by_name(stage: Stage) -> None:
    """A machine whose course differs by one byte grades nobody; the others of the bundle are graded."""
    other, ours = grade_bundle([replace(WORK, version="0" * 64), replace(WORK, student="bela")])
    assert other.report == ""
    assert "another version of lab01_batch_norm" in other.trouble
    assert str(ROOT) in other.trouble
    assert ours.trouble == ""


def test_nobody_is_played_to_the_end_or_graded_by_a_lab_whose_reference_fails(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence for all: they are told together. Who handed in nothing that can be read needs no reference."""
    ended: list[bool] = []

    async def play(*_: object, **__: object) -> Played:
        await asyncio.sleep(20)
        ended.append(True)
        return Played()

    def fails(judge: Judge) -> None:
        raise CourseError("The reference fails in bn1d-training.")

    monkeypatch.setattr(worker, "playing", play)
    monkeypatch.setattr(Judge, "get_ready", fails)
    found = grade_bundle([*FOUR, replace(WORK, student="eve", raw=None, unreadable="It is a cat.")], 2)
    assert [result.trouble for result in found] == ["The reference fails in bn1d-training."] * 4 + [""]
    assert ended == []


def test_a_student_who_is_not_readable_needs_no_kernel(stage: Stage) -> None:
    found = grade_bundle([replace(WORK, raw=None, unreadable="It is a cat.")])
    assert "It is a cat." in found[0].report
    assert stage.most == 0
