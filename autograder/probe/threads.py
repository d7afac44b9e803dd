"""Carry a watch into other threads: torch's modes and hooks hold for the thread that sets them and for no other.

It follows Python's own threads and thread pools, also pools that were made before. It is no wall: threads that are started below
Python are not seen. Like all evidence of the probe it is gathered in a process that the student controls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import thread as pools
from contextlib import AbstractContextManager, contextmanager
from typing import Any

# The methods that run a thread's or a pool's work. They are Python's own; where a version has others, nothing is followed.
ENTRIES: tuple[tuple[Any, str], ...] = ((threading.Thread, "_bootstrap_inner"), (pools._WorkItem, "run"))


@contextmanager
def followed(watch: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Have what other threads begin inside the block run under a watch of its own, made by `watch`."""
    here = threading.get_ident()
    entries = [(owner, name, getattr(owner, name)) for owner, name in ENTRIES if hasattr(owner, name)]

    def watched(work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() == here:  # a thread's `run` called by hand is watched already
                return work(*args, **kwargs)
            with watch():
                return work(*args, **kwargs)

        return run

    for owner, name, work in entries:
        setattr(owner, name, watched(work))
    try:
        yield
    finally:
        for owner, name, work in entries:
            setattr(owner, name, work)
