"""Which control groups this process has: looked for and tried at the first box, given back at the end of the process.

Where groups can be made depends on who runs the grader and who started it: root on most machines; an ordinary user in a session of
systemd's user manager (`systemd-run --user --scope`) or below a service with `Delegate=yes`. See cgroup.py for what they do.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from autograder.errors import SandboxError
from autograder.sandbox.cgroup import NAME, Group, Groups, remove
from autograder.sandbox.folder import YOUNG_S
from autograder.sandbox.policy import Limits

if sys.platform != "win32":
    import fcntl

_lock = threading.Lock()
_groups: Groups | None = None
_refused = ""  # why there are none


def group_for(limits: Limits) -> Group | None:
    """Return a new group for a box; None where this process may make none.

    Raises:
        SandboxError: it may, and this one could not be made.
    """
    found = groups()
    return found.new(limits) if found is not None else None


def groups() -> Groups | None:
    """Return this process' group, made and tried at the first call; None where it may make none."""
    global _groups, _refused
    with _lock:
        if _groups is None and not _refused:
            _groups, _refused = _found(list(places()) if sys.platform == "linux" else [])
        return _groups


def why_none() -> str:
    """Return why there are no groups, or nothing."""
    return _refused


def close() -> None:
    """Give back this process' group; called when no box is left."""
    global _groups
    with _lock:
        if _groups is not None:
            _groups.close()
            _groups = None


def _found(places: list[Path]) -> tuple[Groups | None, str]:
    """Return the groups in the first of these places that has them, or why none has."""
    why = "this machine shows no cgroup v2"
    for place in places:
        try:
            remove_stale(place)
            made = Groups(place)
        except OSError as error:
            why = f"{place}: {error.strerror}" if error.strerror else str(error)
            continue
        try:
            why = made.trial()
        except (SandboxError, OSError) as error:
            why = str(error)
        if not why:
            return made, ""
        made.close()
    return None, why


def places() -> Iterator[Path]:
    """Yield this process' own group and those above it, as far as they are shown here."""
    with suppress(OSError):
        own = next(
            (line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")), ""
        )
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            words, kind = (part.split() for part in line.split(" - ", 1))
            shown, mounted = words[3].rstrip("/"), Path(words[4])
            if kind[0] == "cgroup2" and own.startswith("/") and ".." not in own and f"{own}/".startswith(f"{shown}/"):
                folder = mounted / own.removeprefix(shown).strip("/")
                yield from (folder, *(above for above in folder.parents if above.is_relative_to(mounted)))
                return


def remove_stale(place: Path) -> int:
    """Remove the groups of graders that are gone; returns how many there were."""
    removed = 0
    for path in place.glob(f"{NAME}*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime < YOUNG_S:
                continue  # its maker may not have locked it yet
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error where its grader lives
                remove(path)
                removed += 1
            finally:
                os.close(descriptor)
    return removed


def _forget() -> None:
    # A forked child has the data of the group, which belongs to its parent.
    global _groups, _refused, _lock
    _groups, _refused, _lock = None, "", threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
