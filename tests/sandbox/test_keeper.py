"""The keeper's thread outlives whatever goes wrong with one box: the others are watched on, and whoever waits hears of it."""

from __future__ import annotations

import logging
import signal
import sys
from concurrent.futures import Future, wait
from typing import Any

import psutil
import pytest

from autograder.errors import SandboxError
from autograder.sandbox.box import Box
from autograder.sandbox.folder import RunFolder
from autograder.sandbox.keeper import keeper
from autograder.sandbox.policy import Limits
from autograder.sandbox.start import start_box, start_fork
from autograder.sandbox.warm import ANSWER_S, Fork, Template

pytestmark = pytest.mark.sandbox
LIMITS = Limits(wall_notebook_s=30)
GIVEN = {"connection": None, "source": "import time; time.sleep(60)", "arguments": [], "files": {}}


def sleeping() -> Box:
    """A box that does nothing."""
    return start_box(["/bin/sleep", "60"], RunFolder(), LIMITS).result()


def goes_on() -> bool:
    """Tell whether the keeper starts a box, watches it, and tells of its end."""
    box = start_box([sys.executable, "-c", "print('here')"], RunFolder(), LIMITS).result(20)
    return box.ended.result(20).tail == "here\n"


def raising(*_: object) -> Any:
    """What nobody foresaw."""
    raise ValueError("file descriptor cannot be a negative integer (-1)")


def forked(template: Template) -> Box:
    """A fork of it that does nothing."""
    return start_fork(template, RunFolder(within=template.folder), LIMITS, GIVEN).result(20)


@pytest.mark.parametrize("what", ["drain", "look", "finish"])
def test_a_box_that_cannot_be_watched_is_given_up_and_costs_no_other(
    what: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its processes are ended, and whoever waits for it hears what was wrong."""
    box, other = sleeping(), sleeping()
    monkeypatch.setattr(box, what, raising)
    if what == "finish":  # it is asked for at the end
        box.stop()
    with caplog.at_level(logging.CRITICAL), pytest.raises(SandboxError, match="could no longer be watched: ValueError"):
        box.ended.result(20)
    assert not box.alive
    assert box.process.wait(20) != 0  # type: ignore[union-attr]
    assert other.alive
    other.stop()
    assert other.ended.result(20).cause == "closed"
    assert goes_on()


def test_a_box_whose_start_is_half_done_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread has no place left among what it listens to."""
    there = keeper()._selector
    monkeypatch.setattr(there, "register", raising)
    box = sleeping()
    with pytest.raises(SandboxError, match="could no longer be watched"):
        box.ended.result(20)
    monkeypatch.undo()
    assert goes_on()


def test_what_fails_for_all_boxes_costs_those_that_are_there_and_none_that_come_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody can say what they did meanwhile; nobody waits for them for ever."""
    boxes = [sleeping(), sleeping()]
    with caplog.at_level(logging.CRITICAL):
        monkeypatch.setattr("autograder.sandbox.keeper.usage", raising)
        for box in boxes:
            with pytest.raises(SandboxError, match="could no longer be watched: ValueError"):
                box.ended.result(20)
        monkeypatch.undo()
    assert [box.process.wait(20) != 0 for box in boxes] == [True, True]  # type: ignore[union-attr]
    assert goes_on()


def test_the_thread_listens_again_after_what_it_listened_with_has_broken(caplog: pytest.LogCaptureFixture) -> None:
    """Somebody closes a descriptor that is not his."""
    box = sleeping()
    with caplog.at_level(logging.CRITICAL):
        keeper()._selector.close()
        with pytest.raises(SandboxError, match="could no longer be watched"):
            box.ended.result(20)
    assert goes_on()


def test_a_template_that_anybody_closes_leaves_the_keeper_alone(template: Template) -> None:
    """Its forks go down with it, which is how they end; before, the thread read from a closed socket and ended, and all hung."""
    boxes = [forked(template) for _ in range(3)]
    template.close()
    assert [box.ended.result(20).code for box in boxes] == [signal.SIGKILL] * 3
    assert goes_on()


def test_what_was_told_before_the_close_is_still_heard(template: Template) -> None:
    """A fork that has ended by itself, of which the keeper hears only afterwards."""
    asked: Future[int | None] = Future()

    def look_late(box: Box) -> None:
        assert isinstance(box.process, Fork)
        box.stop()
        while not box.process.poll():
            pass
        asked.set_result(box.process.returncode)

    box = forked(template)
    keeper().call(lambda: look_late(box))
    assert asked.result(20) == 128 + signal.SIGKILL
    assert box.ended.result(20).cause == "closed"


def test_a_closed_template_holds_nothing_and_serves_nobody(template: Template) -> None:
    """It may be closed while its forks are watched, and once more."""
    box = forked(template)
    template.close()
    template.close()
    assert template._link.fileno() == -1
    with pytest.raises(SandboxError, match="template is gone"):
        start_fork(template, None, LIMITS, GIVEN).result(20)
    assert box.ended.result(20).code == signal.SIGKILL


def test_whoever_waits_for_an_answer_of_a_template_that_is_closed_hears_of_it(template: Template) -> None:
    """Before the time that an answer may take is over."""
    for process in psutil.Process(template._process.pid).children(recursive=True):
        process.suspend()
    asked = start_fork(template, None, LIMITS, GIVEN)
    assert wait([asked], 0.3).not_done
    template.close()
    with pytest.raises(SandboxError, match="template is gone"):
        asked.result(ANSWER_S / 2)
