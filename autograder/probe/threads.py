"""Carry a watch into other threads: torch's modes and hooks hold for the thread that sets them and for no other.

It follows Python's own threads and thread pools, also pools that were made before. It is no wall: threads that are started below
Python are not seen. Like all evidence of the probe it is gathered in a process that the student controls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import thread as pools
from contextlib import AbstractContextManager, ExitStack
from typing import Any

# The methods that run a thread's or a pool's work. They are Python's own; where a version has others, nothing is followed.
ENTRIES: tuple[tuple[Any, str], ...] = tuple(
    (owner, name)
    for owner, name in ((threading.Thread, "_bootstrap_inner"), (pools._WorkItem, "run"))
    if hasattr(owner, name)
)


class Followed:
    """A block inside which what other threads begin runs in blocks of its own, made by `blocks`."""

    def __init__(self, blocks: Callable[[], tuple[AbstractContextManager[Any], ...]]) -> None:
        self._blocks = blocks
        self._before: list[Any] = []

    def __enter__(self) -> None:
        here = threading.get_ident()
        for owner, name in ENTRIES:
            work = getattr(owner, name)
            self._before.append(work)
            setattr(owner, name, self._watched(work, here))

    def __exit__(self, *_: object) -> None:
        for owner, name in reversed(ENTRIES):
            setattr(owner, name, self._before.pop())

    def _watched(self, work: Callable[..., Any], here: int) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() == here:  # a thread's `run` called by hand is watched already
                return work(*args, **kwargs)
            with ExitStack() as stack:
                for block in self._blocks():
                    stack.enter_context(block)
                return work(*args, **kwargs)

        return run
