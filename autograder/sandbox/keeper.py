"""The keeper: one thread per grader process that starts every box and watches them all.

One thread for two reasons: the kernel ends a box when the *thread* that started it ends, so that thread must live as
long as the process; and the watch must go on while an event loop is busy comparing tensors. So no failure ends it: a box that
cannot be watched is ended and given up, which whoever waits for it hears, and the others are watched on. What fails and is no
one box's costs all that are there, since nobody can say what any of them did meanwhile; those that come later are watched.
"""

from __future__ import annotations

import atexit
import logging
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from autograder.errors import SandboxError
from autograder.sandbox.box import Box
from autograder.sandbox.folder import remove_stale
from autograder.sandbox.groups import close as close_groups
from autograder.sandbox.policy import POLL_S
from autograder.sandbox.tree import Outsiders, usage

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Keeper:
    """The thread, its boxes and its inbox."""

    def __init__(self) -> None:
        self._boxes: list[Box] = []
        self._looked_s = 0.0
        self._outsiders = Outsiders()
        self._inbox: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        self._wake, self._bell = socket.socketpair()
        self._wake.setblocking(False)
        self._bell.setblocking(False)
        self._selector = self._listening()
        threading.Thread(target=self._run, name="box-keeper", daemon=True).start()
        atexit.register(self._close)

    def start(self, make: Callable[[], Box]) -> Future[Box]:
        """Have the thread call `make`, which starts a box, and watch that box from then on."""
        return self.call(make)

    def call(self, make: Callable[[], T]) -> Future[T]:
        """Have the thread call `make`; what it starts lives as long as the thread."""
        future: Future[T] = Future()
        self._inbox.put((make, future))
        self.ring()
        return future

    def ring(self) -> None:
        """Wake the thread; a full bell is as good as one more ring."""
        with suppress(BlockingIOError):
            self._bell.send(b".")

    def _run(self) -> None:
        with suppress(OSError, SandboxError):  # the first box says what is wrong with the folder
            remove_stale()
        while True:
            try:
                self._turn()
            except Exception as error:
                _log.exception("The boxes can no longer be watched, and are ended.")
                for box in list(self._boxes):
                    self._give_up(box, error)
                self._selector.close()
                self._selector = self._listening()
                time.sleep(POLL_S)

    def _listening(self) -> selectors.BaseSelector:
        selector = selectors.DefaultSelector()
        selector.register(self._wake, selectors.EVENT_READ)
        return selector

    def _turn(self) -> None:
        self._selector.select(POLL_S if self._boxes else None)
        with suppress(BlockingIOError):
            self._wake.recv(4096)
        self._take_orders()
        due = time.monotonic() - self._looked_s >= POLL_S
        if due and self._boxes:
            self._look()
            self._looked_s = time.monotonic()
        self._bury()

    def _take_orders(self) -> None:
        while True:
            try:
                make, future = self._inbox.get_nowait()
            except Empty:
                return
            if not future.set_running_or_notify_cancel():
                continue
            try:
                made = make()
            except BaseException as error:
                future.set_exception(error)
                continue
            if isinstance(made, Box):
                self._boxes.append(made)
                with self._or_given_up(made):
                    if made.exit_descriptor is not None:
                        self._selector.register(made.exit_descriptor, selectors.EVENT_READ)
            future.set_result(made)

    def _look(self) -> None:
        try:
            seen = usage((box.process.pid for box in self._boxes), self._outsiders)
        except OSError as error:  # most likely out of file descriptors for a moment
            _log.warning("The watch over the boxes could not look at their memory: %s", error)
            return
        for box in list(self._boxes):
            with self._or_given_up(box):
                box.drain()
                box.look(seen.get(box.process.pid))

    def _bury(self) -> None:
        for box in list(self._boxes):
            with self._or_given_up(box):
                if box.process.poll() is None:
                    continue
                if box.exit_descriptor is not None:
                    self._selector.unregister(box.exit_descriptor)
                    box.close_exit_descriptor()
                if box.finish():
                    self._boxes.remove(box)
                else:
                    time.sleep(0.002)  # its last processes are being ended by the kernel
                    self.ring()

    @contextmanager
    def _or_given_up(self, box: Box) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            _log.exception("A box can no longer be watched, and is ended.")
            self._give_up(box, error)

    def _give_up(self, box: Box, error: Exception) -> None:
        self._boxes.remove(box)
        with suppress(KeyError, ValueError, OSError):
            self._selector.unregister(box.exit_descriptor or -1)
        box.give_up(SandboxError(f"A box could no longer be watched: {error!r}"))

    def _close(self) -> None:
        """At the end of the process: no box, no run folder stays behind."""
        for box in list(self._boxes):
            box.stop()
        self.ring()
        deadline = time.monotonic() + 5
        while self._boxes and time.monotonic() < deadline:
            time.sleep(0.01)
        close_groups()


_keeper: Keeper | None = None
_lock = threading.Lock()


def keeper() -> Keeper:
    """The keeper of this process, started at the first call."""
    global _keeper
    with _lock:
        if _keeper is None:
            _keeper = Keeper()
        return _keeper


def _forget() -> None:
    # A forked child has the keeper's data but not its thread; its boxes belong to the parent.
    global _keeper, _lock
    if _keeper is not None:
        atexit.unregister(_keeper._close)
    _keeper, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
