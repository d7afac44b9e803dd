"""The grader processes of one Dask worker, as its threads use them: one call at a time each, a dead one is replaced.

Several threads of the worker may ask at the same time; each gets a grader of its own. Nothing here knows Dask.
"""

from __future__ import annotations

import os
import pickle
import queue
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from autograder.cluster.fitness import About, Wanted
from autograder.errors import ClusterError

END_S = 5.0


class Grader:
    """One process, started at once; it is spoken to when it is needed."""

    def __init__(self, wanted: Wanted) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "autograder.cluster.process", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "OMP_NUM_THREADS": "1"},  # threads of several graders would spin against each other
                start_new_session=True,  # the keyboard stops the worker; the grader ends with its socket
            )
        self._link: Connection[Any, Any] = Connection(ours.detach())
        self._lock = threading.Lock()
        self._about: About | None = None
        with suppress(OSError):  # it died already: the first question says so
            self._link.send_bytes(pickle.dumps(wanted))

    @property
    def alive(self) -> bool:
        """False once the process has ended."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def about(self) -> About:
        """Return what the grader says of itself, waiting until it is ready; ClusterError when it is gone."""
        with self._lock:
            return self._said()

    def ask(self, asked: bytes) -> bytes:
        """Return the answer to one pickled call; ClusterError when the grader is unfit or dies with it."""
        with self._lock:
            about = self._said()
            if about.trouble:
                raise ClusterError(f"The worker on {about.host} does not grade: {about.trouble}")
            try:
                self._link.send_bytes(asked)
                return bytes(self._link.recv_bytes())
            except (EOFError, OSError) as error:
                raise self._gone() from error

    def _said(self) -> About:
        if self._about is None:
            try:
                about = pickle.loads(self._link.recv_bytes())
            except (EOFError, OSError) as error:
                raise self._gone() from error
            assert isinstance(about, About)
            self._about = about
        return self._about

    def _gone(self) -> ClusterError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        return ClusterError(
            f"A grader process on {socket.gethostname()} ended (exit code {self._process.returncode}) with work in hand. "
            "Look at that machine's memory."
        )

    def close(self) -> None:
        """End the process: with an empty word where it listens, otherwise by force."""
        idle = self._lock.acquire(blocking=False)
        with suppress(OSError):
            if idle and self._about is not None:
                self._link.send_bytes(b"")
                self._process.wait(END_S)
        with suppress(subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait(END_S)
        if idle:  # otherwise a thread still reads; it closes with the object
            self._link.close()
            self._lock.release()


class Graders:
    """As many as the worker has threads; they begin at once, or each when it is needed."""

    def __init__(self, count: int, wanted: Wanted, *, at_once: bool = True) -> None:
        self._wanted = wanted
        self._all = {number: Grader(wanted) for number in range(count if at_once else 0)}
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(count):
            self._free.put(number)
        self._closed = False

    def about(self) -> list[About]:
        """Return what each that has begun says of itself; one that is gone has that as its trouble."""
        return [self._about(grader) for grader in list(self._all.values())]

    def _about(self, grader: Grader) -> About:
        try:
            return grader.about()
        except ClusterError as error:
            return About(socket.gethostname(), trouble=str(error))

    def ask(self, asked: bytes) -> bytes:
        """Have a free grader answer; one that ended before is replaced first, and one that has not begun begins."""
        number = self._free.get()
        try:
            grader = self._all.get(number)
            if (grader is None or not grader.alive) and not self._closed:
                if grader is not None:
                    grader.close()
                grader = self._all[number] = Grader(self._wanted)
            if grader is None:
                raise ClusterError(f"The graders on {socket.gethostname()} have ended.")
            return grader.ask(asked)
        finally:
            self._free.put(number)

    def close(self) -> None:
        """End all of them."""
        self._closed = True
        for grader in list(self._all.values()):
            grader.close()
