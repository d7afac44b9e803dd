"""Ctrl-C that is heard wherever it comes: what Python drops is sent again.

Python handles a signal between two steps of the main thread. Where these are steps of a finalizer or of a callback of a weak
reference, which the search for garbage runs through, the KeyboardInterrupt has nowhere to go: Python prints it and goes on, and a
class is graded to its end although somebody has stopped it. Who prints is `sys.unraisablehook`, so there it is noticed.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

AGAIN_S = 0.05  # later: the finalizer is done by then


@contextmanager
def heard() -> Iterator[None]:
    """Have an interruption of this block end it, also one that comes in a finalizer; it does nothing in another thread."""
    main, before = threading.main_thread(), sys.unraisablehook
    if threading.current_thread() is not main or not hasattr(signal, "pthread_kill"):
        yield
        return
    waiting: list[threading.Timer] = []

    def noticed(dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            before(dropped)
            return
        waiting.append(threading.Timer(AGAIN_S, signal.pthread_kill, (int(main.ident or 0), signal.SIGINT)))
        waiting[-1].daemon = True
        waiting[-1].start()

    sys.unraisablehook = noticed
    try:
        yield
    finally:
        sys.unraisablehook = before
        for timer in waiting:
            timer.cancel()
