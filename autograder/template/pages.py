"""Large pages for a process that is forked again and again: what a fork copies first of all is the table of its pages.

A template with torch has some forty thousand small pages of its own, and each fork of it takes longer to list them, and to forget
them in the end, than a small notebook's cells take. Gathered into large ones (2 MB) they are a few hundred entries. Nothing else
changes: a fork that writes to a page gets a small copy of it, as before. Linux does so on request since 6.1 (MADV_COLLAPSE);
where it does not, forks are slower. Source: madvise(2).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

LARGE_PAGE = 2**21
MADV_COLLAPSE = 25

_libc = ctypes.CDLL(None, use_errno=True)


def gather() -> None:
    """Gather this process' own memory into large pages, where there is enough of it side by side."""
    for begin, end in list(_writable()):
        for address in range(-(-begin // LARGE_PAGE) * LARGE_PAGE, end - LARGE_PAGE + 1, LARGE_PAGE):
            _libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(LARGE_PAGE), MADV_COLLAPSE)  # some cannot be


def _writable() -> Iterator[tuple[int, int]]:
    """Yield the address ranges of private, writable memory that stands for no file, the stack aside."""
    with open("/proc/self/maps") as file:
        for line in file:
            words = line.split()
            if words[1] == "rw-p" and words[4] == "0" and not words[-1].startswith("[st"):
                begin, end = words[0].split("-")
                yield int(begin, 16), int(end, 16)
