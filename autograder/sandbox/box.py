"""A box: one untrusted process tree, compared with its limits and ended.

Started by start.py, watched by the thread of keeper.py; how it ended is data (end.py).
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from subprocess import Popen

from autograder.errors import SandboxError
from autograder.sandbox.cgroup import Group
from autograder.sandbox.end import Cause, End
from autograder.sandbox.folder import RunFolder, strangers
from autograder.sandbox.policy import Limits
from autograder.sandbox.tree import Usage, exact_memory_mb, usage
from autograder.sandbox.warm import Fork

TAIL_BYTES = 4000
SOCKETS = tuple(f"k-{number}" for number in range(1, 6))
EXPECTED = frozenset((*SOCKETS, "c.json"))
"""All that may lie in the run folder of a kernel with sockets: its connection file and the five of them."""


class Box:
    """A running box. Made by `autograder.sandbox.start.start_box`.

    `ended` is set once, when the whole tree is gone and the run folder deleted.
    """

    def __init__(
        self,
        process: Popen[bytes] | Fork,
        handle: int | None,
        output: int | None,
        folder: RunFolder | None,
        limits: Limits,
        user_id: int | None,
        boxed: bool,
        group: Group | None = None,
    ) -> None:
        self.process = process
        self.folder = folder
        self.limits = limits
        self.user_id = user_id
        self.boxed = boxed
        self.group = group
        self.ended: Future[End] = Future()
        self.output = output
        self.peak_memory_mb = 0.0
        self.cpu_s = 0.0
        self.ends_s = time.monotonic() + limits.wall_notebook_s * limits.stretch  # may be set earlier
        self._tail = b""
        self._cause: Cause | None = None
        self._sealed = False
        self._seen_cpu_s: dict[int, float] = {}
        # Of process 1. A pidfd never means another process, whatever ids are used again; readable once the process is gone.
        self._init = handle
        self._closing = threading.Lock()  # its number must not be another process' when somebody stops the box
        # Readable when the outermost process ends; None where only polling tells.
        self.exit_descriptor: int | None = None
        if isinstance(process, Fork):
            self.exit_descriptor = os.dup(process.handle)
        elif hasattr(os, "pidfd_open"):
            self.exit_descriptor = os.pidfd_open(process.pid)

    @property
    def alive(self) -> bool:
        """False once the whole tree is gone."""
        return not self.ended.done()

    @property
    def path(self) -> Path | None:
        """The run folder, if it has one."""
        return self.folder.path if self.folder else None

    def stop(self, cause: Cause = "closed") -> None:
        """Kill the whole tree now; returns at once, `ended` tells when it is gone. Harmless when repeated."""
        if self._cause is None:
            self._cause = cause
        with self._closing:
            boxed = self._init is not None
            if self._init is not None:
                # Process 1 of its own pid namespace: the kernel ends all others with it before it counts as gone.
                with suppress(OSError):
                    signal.pidfd_send_signal(self._init, signal.SIGKILL)
        if not boxed:
            for process in reversed(self._members()):
                with suppress(OSError):
                    os.kill(process, getattr(signal, "SIGKILL", signal.SIGTERM))
            with suppress(OSError):
                self.process.kill()

    def seal(self) -> None:
        """Take the run folder away from the box's user, once its sockets are there (root only; others are watched)."""
        if self.user_id is not None and self.path is not None and not self._sealed:
            self._sealed = True
            os.chown(self.path, 0, self.user_id)
            os.chmod(self.path, 0o750)

    # What follows is called by the keeper's thread only.

    def look(self, seen: Usage | None) -> None:
        """Compare the box with its limits and stop it where it is over one."""
        if self._cause is not None:
            return
        if time.monotonic() > self.ends_s:
            self.stop("wall")
        if self.boxed and self.path is not None:
            self._look_at_folder(self.path)
        if seen is None:
            return
        for process, cpu_s in seen.own_cpu_s.items():
            self._seen_cpu_s[process] = max(cpu_s, self._seen_cpu_s.get(process, 0.0))
        # A parent that never waits for its children hides their time from the first sum, not from the second.
        self.cpu_s = max(self.cpu_s, seen.cpu_s, sum(self._seen_cpu_s.values()))
        if self.group is not None:
            self.cpu_s = max(self.cpu_s, self.group.cpu_s())
        if self.cpu_s > self.limits.cpu_s:
            self.stop("cpu")
        memory_mb: float | None = seen.memory_mb
        if seen.memory_mb > self.limits.memory_mb:
            memory_mb = exact_memory_mb(seen.own_cpu_s)
            memory_mb = seen.memory_mb if memory_mb is None else memory_mb
            if memory_mb > self.limits.memory_mb:
                self.stop("memory")
        self.peak_memory_mb = max(self.peak_memory_mb, memory_mb or 0.0)

    def _look_at_folder(self, path: Path) -> None:
        stranger = strangers(path, EXPECTED)
        if stranger is not None:
            self.stop("folder")
        elif self.user_id is not None and not self._sealed and all((path / name).is_socket() for name in SOCKETS):
            self.seal()

    def _members(self) -> tuple[int, ...]:
        found = usage([self.process.pid]).get(self.process.pid)
        return tuple(found.own_cpu_s) if found else ()

    def drain(self) -> None:
        """Read what the box wrote to standard error, a little at a time, and keep the end of it."""
        if self.output is None:
            return
        with suppress(BlockingIOError):
            data = os.read(self.output, 65536)
            if data:
                self._tail = (self._tail + data)[-TAIL_BYTES:]
            else:
                self._close_output()

    def close_exit_descriptor(self) -> None:
        """Give back `exit_descriptor`."""
        if self.exit_descriptor is not None:
            os.close(self.exit_descriptor)
            self.exit_descriptor = None

    def finish(self) -> bool:
        """True when the tree is gone; then everything it held is given back and `ended` is set."""
        code = self.process.poll()
        if code is None:
            return False
        self.drain()
        if self._init is not None:
            # bubblewrap itself may be killed by someone: its death ends process 1 of the box, a moment later.
            with suppress(OSError):
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
            if not select.select([self._init], [], [], 0)[0]:
                return False
            self._close_init()
        else:
            for process in self._members():
                with suppress(OSError):
                    os.kill(process, getattr(signal, "SIGKILL", signal.SIGTERM))
        self._close_output()
        if self.folder is not None:
            self.folder.remove()
        end = self._end(code)
        if self.group is not None:
            self.group.remove()
        self.ended.set_result(end)
        return True

    def give_up(self, why: SandboxError) -> None:
        """Kill the tree and have whoever waits for its end hear that nobody watches it any more."""
        for give_back in (self.stop, self.close_exit_descriptor, self._close_init, self._close_output):
            with suppress(Exception):
                give_back()
        if not self.ended.done():
            self.ended.set_exception(why)

    def _close_init(self) -> None:
        with self._closing:
            handle, self._init = self._init, None
            if handle is not None:
                os.close(handle)

    def _close_output(self) -> None:
        handle, self.output = self.output, None
        if handle is not None:
            os.close(handle)

    def _end(self, code: int) -> End:
        tail = self._tail.decode("utf-8", "replace")
        if self._cause is not None:
            return End(self._cause, 0, tail)
        number = code - 128 if code > 128 and self.boxed else -code  # bubblewrap reports a signal as 128 + its number
        if number <= 0:
            return End("exit", code, tail)
        xcpu = getattr(signal, "SIGXCPU", None)
        if number == xcpu or (number == 9 and self.cpu_s >= 0.9 * self.limits.cpu_s):
            return End("cpu", number, tail)
        if number == 9 and self.group is not None and self.group.out_of_memory():
            return End("memory", 0, tail)
        return End("signal", number, tail)
