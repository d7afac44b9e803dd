"""The alarm that ends a step of a scenario which takes too long, where the platform and the thread allow one.

Two clocks tick while scenarios run, one of CPU time, one of the wall, and a step is over when it has lasted so many ticks: to
set a clock takes as long as many a step does. They are set anew for each check, since student code may turn off what it finds.
What has taken too long is rung for at each tick, since an `except BaseException` in a student's loop may swallow the first.
"""

from __future__ import annotations

import math
import signal
import threading
from typing import Any

WALL_FACTOR = 6.0  # wall time guards against sleeping; a loaded machine must not cost anyone a point
TICK_S = 0.5  # at most; a step may last one longer than its time
TICKS = 4  # at least, of a step


class ScenarioTimeout(BaseException):
    """A scenario took longer than its time; a BaseException, so that `except Exception` does not swallow it."""


class Alarm:
    """A block that has the timers of this process; `rings` says whether what runs now may be interrupted."""

    def __init__(self) -> None:
        self.seconds = math.inf
        self.rings = False
        self._handler = self._tick
        self._clocks: tuple[tuple[Any, int, float], ...] = ()
        if threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
            cpu = (signal.ITIMER_PROF, int(signal.SIGPROF), 1.0)
            self._clocks = (cpu, (signal.ITIMER_REAL, int(signal.SIGALRM), WALL_FACTOR))
        self._before: list[Any] = []
        self._whole: dict[int, int] = {}
        self._left: dict[int, int] = {}

    def __enter__(self) -> Alarm:
        self._before = [signal.getsignal(number) for _, number, _ in self._clocks]
        return self

    def __exit__(self, *error: object) -> None:
        self.rings = False
        for (timer, number, _), handler in zip(self._clocks, self._before, strict=True):
            signal.setitimer(timer, 0)
            if handler is not None:  # not Python's: it cannot be put back
                signal.signal(number, handler)

    def set(self, seconds: float) -> None:
        """Set the clocks for steps of so many seconds of CPU time; nothing rings until `rings` is set."""
        self.seconds = seconds
        for timer, number, factor in self._clocks:
            signal.signal(number, self._handler)
            tick_s = min(TICK_S, factor * seconds / TICKS)
            signal.setitimer(timer, tick_s, tick_s)
            self._whole[number] = math.ceil(factor * seconds / tick_s) + 1  # the first may come at once
        self.start()

    def start(self) -> None:
        """Begin the time of a step, in place of that of the step before."""
        self._left.update(self._whole)

    def _tick(self, number: int, _: object) -> None:
        self._left[number] -= 1
        if self.rings and self._left[number] <= 0:
            raise ScenarioTimeout(f"it took more than {self.seconds:g} seconds")
