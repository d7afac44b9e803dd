"""Control groups (cgroup v2), where the grader may make them: then the kernel itself bounds a box's memory and processes.

Theory of operation. The watch looks ten times a second, and a program can take gigabytes between two looks. Where some group of
the hierarchy, this process' own or one above it, can be written and hands on the controllers `memory` and `pids`, the grader makes
a group for itself there, and in it one for each box. Process 1 of a box is put into it while it is the box's only process, so that
none is outside. The watch still decides: the group's bound on memory lies above the limit by what the watch does not count. Nothing
is taken on trust: before the first box a process is put into such a group and must be refused a child and be ended for its memory.
What it is not: needed. Without it the watch and the limits of each process bound the same things, later by a tenth of a second.
"""

from __future__ import annotations

import itertools
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from autograder.errors import SandboxError
from autograder.sandbox.policy import SHARED_MEMORY_MB, Limits

if sys.platform != "win32":
    import fcntl

CONTROLLERS = ("memory", "pids")
NAME = "autograder-"
HEADROOM_MB = 64
"""For what the kernel itself holds for a box: page tables, socket buffers, processes."""

MORE_PROCESSES = 2
"""Process 1 of a box and the one that makes it; of the program itself, its own limit allows no more than told."""

CLOSE_S = 2.0

WHERE_THERE = {"memory.swap.max": 0, "memory.oom.group": 1}
"""Nothing is swapped out instead, and all of a box ends together; older kernels lack one or the other."""

TRIAL_MB, TRIAL_PROCESSES = 32, 4
TRIAL = f"""
import os
input()
try:
    for _ in range(2 * {TRIAL_PROCESSES}):
        if os.fork() == 0:
            os._exit(0)
    print("had more than {TRIAL_PROCESSES} processes")
except OSError:
    block = b"x" * ({4 * TRIAL_MB} << 20)
    print("had more than {TRIAL_MB} MB")
"""


class Group:
    """The group of one box; `bounds` are written into its files."""

    def __init__(self, path: Path, bounds: Mapping[str, int]) -> None:
        self.path = path
        path.mkdir()
        try:
            for name, value in bounds.items():
                (path / name).write_text(str(value))
            for name, value in WHERE_THERE.items():
                if (path / name).exists():
                    (path / name).write_text(str(value))
        except OSError:
            self.remove()
            raise

    def admit(self, pid: int) -> None:
        """Put a process into it, and with it all that it will start.

        Raises:
            SandboxError: it could not be.
        """
        try:
            (self.path / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            raise SandboxError(f"A box could not be put into its control group {self.path}: {error}.") from error

    def cpu_s(self) -> float:
        """Return the CPU time of all that ever ran in it, also of what nobody waited for; 0 where the kernel does not tell."""
        return _number(self.path / "cpu.stat", "usage_usec") / 1e6

    def out_of_memory(self) -> bool:
        """Return whether the kernel ended something in it for its memory."""
        return _number(self.path / "memory.events", "oom_kill") > 0

    def remove(self) -> None:
        """Remove it; what could not be is removed with the grader's own group."""
        with suppress(OSError):
            self.path.rmdir()


class Groups:
    """The group of this grader, which holds those of its boxes and no process; held by a lock while this process has it."""

    def __init__(self, place: Path) -> None:
        _hand_on(place)
        self.path = place / f"{NAME}{os.getpid()}-{secrets.token_hex(4)}"
        self.path.mkdir()
        self._numbers = itertools.count(1)
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _hand_on(self.path)
        except BaseException:
            self.close()
            raise

    def new(self, limits: Limits) -> Group:
        """Make the group of a box.

        Raises:
            SandboxError: it could not be made.
        """
        memory_mb = limits.memory_mb + limits.scratch_mb + SHARED_MEMORY_MB + HEADROOM_MB
        return self._made(memory_mb, limits.processes + MORE_PROCESSES)

    def _made(self, memory_mb: int, processes: int) -> Group:
        try:
            bounds = {"memory.max": memory_mb << 20, "pids.max": processes}
            return Group(self.path / f"box-{next(self._numbers)}", bounds)
        except OSError as error:
            raise SandboxError(f"No control group could be made for a box in {self.path}: {error}.") from error

    def trial(self) -> str:
        """Put a process into a group that is too small for it; return why the group does not hold, or nothing."""
        group = self._made(TRIAL_MB, TRIAL_PROCESSES)
        command = [sys.executable, "-I", "-S", "-c", TRIAL]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT)
        try:
            group.admit(process.pid)
            said = process.communicate(b"go\n", timeout=20)[0].decode().strip()
            if process.returncode == -signal.SIGKILL and group.out_of_memory():
                return ""
            return f"a process in a group {said or 'was not ended by it'}"
        except (SandboxError, subprocess.TimeoutExpired) as error:
            return str(error)
        finally:
            process.kill()
            process.communicate()
            group.remove()

    def close(self) -> None:
        """Remove it with all that is left in it, for which what was killed just now has a moment to end."""
        deadline = time.monotonic() + CLOSE_S
        remove(self.path)
        while self.path.exists() and time.monotonic() < deadline:  # after that, the next grader here removes it
            time.sleep(0.01)
            remove(self.path)
        os.close(self._lock)


def remove(group: Path) -> None:
    """Remove a group that holds no process, and those in it."""
    for path in (*group.glob("box-*"), group):
        with suppress(OSError):
            path.rmdir()


def _hand_on(group: Path) -> None:
    """Let the groups in this one have the controllers; an OSError where they cannot."""
    offered = (group / "cgroup.controllers").read_text().split()
    if lacking := [name for name in CONTROLLERS if name not in offered]:
        raise OSError(f"{group} has no controller {' and '.join(lacking)}")
    if not set(CONTROLLERS) <= set((group / "cgroup.subtree_control").read_text().split()):
        (group / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in CONTROLLERS))


def _number(path: Path, key: str) -> int:
    with suppress(OSError, ValueError, IndexError):
        words = path.read_text().split()
        return int(words[words.index(key) + 1])
    return 0
