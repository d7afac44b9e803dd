"""Small things about file descriptors that are handed from process to process."""

from __future__ import annotations

import json
import os
import select
import time
from contextlib import suppress

BUILD_S = 10
"""Building a box takes some 5 ms; a machine that needs longer than this is not usable."""


def sealed(data: bytes) -> int:
    """Return a file descriptor that holds `data`, at its start, for a child to read once."""
    descriptor = os.memfd_create("handed-over")
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def pid_of(handle: int) -> int:
    """Return the process id, as seen from here, that a pidfd stands for; -1 once it is gone."""
    with open(f"/proc/self/fdinfo/{handle}") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pid:"))


def first_process(info: int) -> int | None:
    """Return a pidfd of process 1 of the box; None when bubblewrap gave up, also where process 1 came and went already."""
    data = b""
    deadline = time.monotonic() + BUILD_S
    # It arrives in pieces, and an open brace is no answer yet.
    while not data.rstrip().endswith(b"}"):
        if not select.select([info], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return None
        piece = os.read(info, 4096)
        if not piece:
            return None
        data += piece
    with suppress(ProcessLookupError):  # it says itself why the box cannot be built, ends, and bubblewrap buries it
        return os.pidfd_open(int(json.loads(data)["child-pid"]))
    return None


def is_gone(handle: int) -> bool:
    """Return whether the process that a pidfd stands for has ended."""
    return bool(select.select([handle], [], [], 0)[0])
