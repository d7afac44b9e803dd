"""How many processors this process may use: those that it may run on, and no more than its control groups give it time for.

A machine's own number is wrong where the grader has a part of it: a container, a job of SLURM's, `taskset`, systemd's CPUQuota.
Only cgroup v2 is asked; where it says nothing, nothing is bounded.
"""

from __future__ import annotations

import math
import os
from contextlib import suppress

from autograder.sandbox import groups


def processors() -> int:
    """Return how many processors this process may use, at least 1; a part of one counts as one."""
    shown = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min([shown, *_bounds()])))


def _bounds() -> list[float]:
    """Return how many processors' time this process' group, and each above it, has."""
    found: list[float] = []
    for group in groups.places():
        with suppress(OSError, ValueError, ZeroDivisionError):  # the topmost group has no such file
            quota, period = (group / "cpu.max").read_text().split()
            if quota != "max":
                found.append(int(quota) / int(period))
    return found
