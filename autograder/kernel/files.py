"""The files that travel with a notebook into its box: small regular files, as bytes, links never followed."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

MAX_FILES = 64


def travelling_files(folder: Path, max_bytes: int) -> dict[str, bytes]:
    """The regular files below `folder` (relative path -> content) that fit into `max_bytes` together.

    Notebooks stay out (one may hold tests), and so do hidden files and folders. A link is left out too, wherever it
    points: otherwise a submission could name a file of the grader's and have it brought in.
    """
    files: dict[str, bytes] = {}
    left = max_bytes
    for here, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.startswith(".") or name.endswith(".ipynb"):
                continue
            content = _read(Path(here, name), left)
            if content is not None and len(files) < MAX_FILES:
                files[str(Path(here, name).relative_to(folder))] = content
                left -= len(content)
    return files


def _read(path: Path, max_bytes: int) -> bytes | None:
    with suppress(OSError):
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with open(os.open(path, flags), "rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_size <= max_bytes:
                content = file.read(max_bytes + 1)
                return content if len(content) <= max_bytes else None
    return None
