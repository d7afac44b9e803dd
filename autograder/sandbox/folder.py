"""Run folders: one short, private folder per box for the kernel's sockets, and the removal of those left by a crash.

A box can write to its run folder, so nothing in it is ever opened or followed by the grader once the box has started:
names are listed and looked at with lstat, no more.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from autograder.errors import SandboxError

if sys.platform != "win32":
    import fcntl

YOUNG_S = 60
"""A folder younger than this may not be locked yet by the process that just made it."""


class RunFolder:
    """A new folder of mode 0700, held by a lock while this process has it.

    `name` is for a restarted kernel, `within` for one of a template's forks, whose folders lie in the template's own.
    """

    def __init__(self, name: str | None = None, within: RunFolder | None = None) -> None:
        # The path must stay far below the 107 bytes that a Unix socket's address can hold.
        self.path: Path = (within.path if within else _parent()) / (name or secrets.token_hex(4))
        self.path.mkdir(mode=0o700)
        self._lock: int | None = None
        if sys.platform != "win32":
            self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def remove(self) -> None:
        """Delete it with all that the dead box left in it."""
        _delete(self.path)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_stale() -> int:
    """Delete the folders whose grader is gone; returns how many there were."""
    if sys.platform == "win32":
        return 0
    removed = 0
    for path in _parent().iterdir():
        try:
            if time.time() - path.lstat().st_mtime < YOUNG_S:
                continue
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue  # its grader lives
        else:
            _delete(path)
            removed += 1
        finally:
            os.close(descriptor)
    return removed


def strangers(path: Path, expected: frozenset[str]) -> str | None:
    """The first entry of a run folder that has no business there, or None; looks at names and types only."""
    with suppress(FileNotFoundError), os.scandir(path) as entries:
        for count, entry in enumerate(entries):
            if entry.name not in expected or count >= len(expected):
                return entry.name
            with suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                small = stat.S_ISREG(status.st_mode) and status.st_size <= 65536
                if not (stat.S_ISSOCK(status.st_mode) or small):
                    return entry.name
    return None


def _parent() -> Path:
    """The folder of all run folders of this user; made when missing, refused when it is not this user's own."""
    if sys.platform == "win32":
        path = Path(tempfile.gettempdir()) / "autograder"
        path.mkdir(exist_ok=True)
        return path
    path = Path("/tmp") / f"autograder-{os.geteuid()}"
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    status = path.lstat()
    private = stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o077
    if not private or status.st_uid != os.geteuid():
        raise SandboxError(
            f"{path} must be a folder that only you can open, and it is not. "
            f"Look who made it, remove it, and run the command again."
        )
    return path


def _delete(path: Path) -> None:
    """Remove a tree that may hold folders without permissions; links are removed, not followed."""
    if sys.platform != "win32":
        for folder, names, _ in os.walk(path):
            for name in names:
                with suppress(OSError):
                    inner = os.path.join(folder, name)
                    if stat.S_ISDIR(os.lstat(inner).st_mode):
                        os.chmod(inner, 0o700)
    shutil.rmtree(path, ignore_errors=True)
