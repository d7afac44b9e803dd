"""How a box ended, as data with a small vocabulary, and the sentence about it for a student.

Only a box that could not be started is an exception; whatever student code does to its own is an `End`.
"""

from __future__ import annotations

import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from autograder.sandbox.policy import Limits

Cause = Literal["exit", "signal", "memory", "cpu", "wall", "folder", "closed"]
"""exit, signal: the program itself; memory, cpu, wall: a limit; folder: it wrote where it must not; closed: by us."""


@dataclass(frozen=True)
class End:
    """How a box ended: the cause, the exit code or signal number, and the last bytes it wrote to standard error."""

    cause: Cause
    code: int = 0
    tail: str = ""

    def sentence(self, limits: Limits) -> str:
        """One plain sentence for the student."""
        if self.cause == "memory":
            return f"The kernel used more than {limits.memory_mb} MB of memory and was stopped."
        if self.cause == "cpu":
            return f"The notebook used more than {limits.cpu_s:g} s of CPU time and was stopped."
        if self.cause == "wall":
            return f"The notebook ran for more than {limits.wall_notebook_s:g} s and was stopped."
        if self.cause == "folder":
            return "The code wrote into the folder of the kernel's own sockets, and the kernel was stopped."
        if self.cause == "closed":
            return "The kernel was stopped by the grader."
        if self.cause == "exit":
            return f"The kernel ended itself (exit code {self.code}); a notebook must not call exit() or os._exit()."
        with suppress(ValueError):
            name = signal.Signals(self.code).name
            if name == "SIGKILL":
                return "The kernel was killed by the system, most often because the machine ran out of memory."
            return f"The kernel crashed ({name}): something in the notebook broke the Python process itself."
        return f"The kernel crashed (signal {self.code})."
