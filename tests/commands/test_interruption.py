"""An interruption ends what it is to end, also where Python would drop it."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from autograder.commands.interruption import heard


class Thing:
    """Something with a finalizer that is interrupted."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def finalized() -> None:
    """A last reference goes."""
    Thing()


def collected() -> None:
    """A circle is found."""
    one = Thing()
    one.itself = one  # type: ignore[attr-defined]
    del one
    gc.collect()


def called_back() -> None:
    """A weak reference tells of an end."""

    class Other:
        pass

    one = Other()
    kept = weakref.ref(one, lambda _: signal.raise_signal(signal.SIGINT))
    del one
    assert kept() is None


def interrupted() -> None:
    """In the middle of ordinary code."""
    signal.raise_signal(signal.SIGINT)


def _worked(comes: Callable[[], Any]) -> None:
    with heard():
        comes()
        time.sleep(10)


@pytest.mark.parametrize("comes", [finalized, collected, called_back, interrupted])
def test_an_interruption_is_heard_wherever_it_comes(comes: Callable[[], Any]) -> None:
    """A moment later at most."""
    hook = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt):
        _worked(comes)
    assert sys.unraisablehook is hook


def test_other_errors_of_finalizers_go_where_they_went(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is interrupted."""
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: told.append(dropped.exc_type))

    class Fails:
        def __del__(self) -> None:
            raise ValueError("in a finalizer")

    with heard():
        Fails()
    assert told == [ValueError]


def test_after_the_block_nothing_is_sent_any_more() -> None:
    """What came at its very end has nobody to hear it."""
    with heard():
        finalized()
    time.sleep(0.2)


def test_another_thread_is_left_alone() -> None:
    """Signals are the main thread's."""
    hook, seen = sys.unraisablehook, []

    def look() -> None:
        with heard():
            seen.append(sys.unraisablehook)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [hook]
