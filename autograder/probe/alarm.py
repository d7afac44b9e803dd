"""The alarm that ends a step of a scenario which takes too long, where the platform and the thread allow one.

It is set anew for each step, since student code may turn off what it finds; it rings again every half second, since an `except
BaseException` in a student's loop may swallow the first. A handler that is still ours is left as it is: to ask takes a tenth of
the time.
"""

from __future__ import annotations

import signal
import threading
from typing import Any

# What `signal` is made of: its own functions make two enumerations of each answer, 8 microseconds for each step.
_handlers = getattr(signal, "_signal", signal)

WALL_FACTOR = 6.0  # wall time guards against sleeping; a loaded machine must not cost anyone a point
AGAIN_S = 0.5


class ScenarioTimeout(BaseException):
    """A scenario took longer than its time; a BaseException, so that `except Exception` does not swallow it."""


class Alarm:
    """A block that has the timers of this process; `rings` says whether what runs now may be interrupted.

    `seconds` are of CPU time.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.rings = False
        self._handler = self._ring
        self._clocks: tuple[tuple[Any, Any, float], ...] = ()
        if threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
            cpu = (signal.ITIMER_PROF, int(signal.SIGPROF), 1.0)
            self._clocks = (cpu, (signal.ITIMER_REAL, int(signal.SIGALRM), WALL_FACTOR))
        self._before: list[Any] = []

    def __enter__(self) -> Alarm:
        self._before = [_handlers.getsignal(number) for _, number, _ in self._clocks]
        return self

    def __exit__(self, *error: object) -> None:
        self.rings = False
        for (timer, number, _), handler in zip(self._clocks, self._before, strict=True):
            signal.setitimer(timer, 0)
            if handler is not None:  # not Python's: it cannot be put back
                _handlers.signal(number, handler)

    def start(self) -> None:
        """Begin the time of a step, in place of that of the step before; nothing rings until `rings` is set."""
        for timer, number, factor in self._clocks:
            if _handlers.getsignal(number) is not self._handler:
                _handlers.signal(number, self._handler)
            signal.setitimer(timer, factor * self.seconds, AGAIN_S)

    def _ring(self, *_: Any) -> None:
        if self.rings:
            raise ScenarioTimeout(f"it took more than {self.seconds:g} seconds")
