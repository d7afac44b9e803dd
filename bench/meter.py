"""What a command costs: wall time, and the CPU time of all processes that it started, wherever they went and however they ended.

`getrusage` cannot tell: what a killed process used is lost when its process namespace ends with it, as those of kernels do. So each
command runs in a control group of its own (version 2, which counts CPU time without any controller), where one can be made.
Where none can, the busy time of the whole machine is taken; then nothing else may run. `method` says which.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

PR_SET_CHILD_SUBREAPER = 36
ORPHANS_S = 20.0  # how long processes that were left behind may take to end
CONTROL_GROUP, MACHINE = "control group of the command", "busy time of the whole machine"
_numbers = itertools.count()


@dataclass(frozen=True)
class Cost:
    """What a command used, and what it said."""

    wall_s: float
    cpu_s: float
    text: str


class CommandFailed(Exception):
    """A command that is measured did not do its work; its last words are in the message."""


def measured(
    command: Sequence[str | Path],
    *,
    where: Path,
    environment: Mapping[str, str | None] | None = None,
    timeout_s: float = 900,
) -> Cost:
    """Run a command to its end and return its cost; `environment` adds variables, None takes one away.

    Raises CommandFailed for any exit code but 0, and after the time.
    """
    others = _children()
    adopt_orphans()
    changes = environment or {}
    variables = {k: v for k, v in {**os.environ, **changes}.items() if v is not None}
    words = [str(word) for word in command]
    group = _group()
    enter = [] if group is None else ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group / "cgroup.procs")]
    before_s, began_s = _machine_s(), time.perf_counter()
    process = subprocess.Popen(
        [*enter, *words], cwd=where, env=variables, text=True, errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        text, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired as late:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise CommandFailed(f"{words[0]} took more than {timeout_s:g} s") from late
    wall_s = time.perf_counter() - began_s
    _wait_for_orphans(others)
    adopt_orphans(False)
    cpu_s = _machine_s() - before_s if group is None else _used_s(group)
    if process.returncode != 0:
        raise CommandFailed(f"{' '.join(words)} ended with exit code {process.returncode}:\n{text[-3000:]}")
    return Cost(wall_s, cpu_s, text)


def adopt_orphans(yes: bool = True) -> None:
    """Make this process the parent of every descendant whose own parent ends, so that it can wait for their end; or no longer."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0)


def method() -> str:
    """Return how CPU time is found on this machine, in words."""
    return MACHINE if _parent() is None else CONTROL_GROUP


def _wait_for_orphans(others: set[int]) -> None:
    ends_s = time.monotonic() + ORPHANS_S
    while (left := _children() - others) and time.monotonic() < ends_s:
        for process in left:
            with suppress(ChildProcessError):
                os.waitpid(process, os.WNOHANG)
        time.sleep(0.02)


def _children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


@cache
def _parent() -> Path | None:
    """Return the control group of this process, if it may hold others and the grader makes none beside it for its boxes."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        (top,) = [Path(words[4]) for words in mounts if words[words.index("-") + 1] == "cgroup2"]
        own = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
        parent = top / own[3:].lstrip("/")
        trial = parent / f"bench-{os.getpid()}"
        trial.mkdir()
        counts = (trial / "cpu.stat").read_text().startswith("usage_usec")
        writable = os.access(parent / "cgroup.procs", os.W_OK)
        bounds_boxes = "memory" in (parent / "cgroup.controllers").read_text().split()
        trial.rmdir()
    except (OSError, ValueError, StopIteration):
        return None
    return parent if counts and writable and not bounds_boxes else None


def _group() -> Path | None:
    parent = _parent()
    if parent is None:
        return None
    group = parent / f"bench-{os.getpid()}-{next(_numbers)}"
    group.mkdir()
    return group


def _used_s(group: Path) -> float:
    used = (group / "cpu.stat").read_text().split()
    with suppress(OSError):  # something still runs in it; what it goes on to use is not counted
        group.rmdir()
    return int(used[used.index("usage_usec") + 1]) / 1e6


def _machine_s() -> float:
    """Return the busy seconds of all processors since the start of the machine; 0 where it does not tell."""
    try:
        user, nice, system, _idle, _waiting, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
    except (OSError, ValueError):
        return 0.0
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")
