"""The bubblewrap command line of a box: the fence itself, as one list of words.

An ordinary user gets a user namespace. Root does not: bubblewrap's `--uid` would map the box's user to the real root,
so there the mounts are made by root and `setpriv` then takes a throw-away user id, all capabilities gone. Everything
else is the same for both. What it is not: a cage against bugs of the kernel, or a judge of what runs inside.
"""

from __future__ import annotations

import os
import posixpath
import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from autograder.errors import SandboxUnavailable
from autograder.sandbox.policy import HOME, SHARED_MEMORY_MB, Limits, rlimits
from autograder.sandbox.view import View

INSTALL = "Install it with `sudo apt install bubblewrap`, then run `autograder doctor`."
BOX_USER_ID = 1000
"""The user id that an ordinary user's box shows inside (outside it is that user's own)."""

TEMPLATE_FOLDERS, TEMPLATE_PLACE = "/opt/boxes", "/opt/box"
"""Where the template sees the run folders of all its forks, and where each of them sees its own."""


@dataclass(frozen=True)
class Paths:
    """Where the programs that build a box lie."""

    bwrap: str
    prlimit: str
    setpriv: str


def programs() -> Paths:
    """Find them.

    Raises:
        SandboxUnavailable: one is missing.
    """
    found = {}
    for name in ("bwrap", "prlimit", "setpriv"):
        # Never from the folder of the virtual environment: the box must find the last two in its own /usr.
        path = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin")
        if path is None:
            package = "bubblewrap" if name == "bwrap" else "util-linux"
            raise SandboxUnavailable(
                f"The program {name} is missing, so student code cannot be boxed. "
                + INSTALL.replace("bubblewrap", package)
            )
        found[name] = path
    return Paths(**found)


def options(
    view: View,
    folder: str | None,
    limits: Limits,
    *,
    user_id: int | None,
    files: Mapping[str, int] | None = None,
) -> list[str]:
    """What bubblewrap must build: namespaces first, then the file system from the root down.

    `folder`, if any, is the one place that both sides write (a kernel's sockets). `user_id` is the throw-away id when root
    builds the box, None when an ordinary user does. `files` are put into the home: relative path -> descriptor with
    the content.
    """
    words = _namespaces(user_id, ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"))
    made = {"/"}
    words += _places(view, made, scratch_mb=limits.scratch_mb)
    for name, descriptor in (files or {}).items():
        place = f"{HOME}/{name}"
        words += [*_parents(place, made, "0777"), "--perms", "0666", "--file", str(descriptor), place]
    if folder is not None:
        words += [*_parents(folder, made), "--bind", folder, folder]
    # An ordinary user owns the box's root folder; without this it would be one more place to write to.
    words += ["--remount-ro", "/", "--chdir", HOME]
    return words


def template_options(view: View, folder: str, *, user_id: int | None) -> list[str]:
    """The same for the template, whose forks fence themselves off: `folder` holds all their run folders."""
    # One more capability for root's, and only until Python starts: see `template_inner`.
    words = _namespaces(user_id, ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_SYS_ADMIN"))
    made = {"/"}
    words += _places(view, made, scratch_mb=1)
    for place in (TEMPLATE_FOLDERS, TEMPLATE_PLACE):
        words += [*_parents(place, made), "--perms", "0755", "--dir", place]
    return [*words, "--bind", folder, TEMPLATE_FOLDERS, "--remount-ro", "/", "--chdir", HOME]


def template_inner(argv: list[str], paths: Paths, *, user_id: int | None) -> list[str]:
    """The words after `--` for the template: become nobody (as root), with a /proc that its forks may mount anew.

    bubblewrap covers parts of /proc when root runs it, and the kernel lets nobody mount a /proc that shows more than the one
    that is there. They show nothing that nobody could write to.
    """
    if user_id is None:
        return argv
    uncover = "for place in /proc/sys /proc/sysrq-trigger /proc/irq /proc/bus; do umount $place 2>/dev/null; done"
    words = ["/bin/sh", "-c", f'{uncover}; exec "$@"', "sh", *_nobody(paths, user_id)]
    return [*words, *argv]


def _nobody(paths: Paths, user_id: int) -> list[str]:
    words = [paths.setpriv, f"--reuid={user_id}", f"--regid={user_id}", "--clear-groups"]
    return [*words, "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "--no-new-privs", "--"]


def _namespaces(user_id: int | None, capabilities: tuple[str, ...]) -> list[str]:
    words = [f"--unshare-{name}" for name in ("pid", "net", "ipc", "uts", "cgroup-try")]
    words += ["--die-with-parent", "--new-session", "--hostname", "box"]
    if user_id is None:
        words += ["--unshare-user", "--uid", str(BOX_USER_ID), "--gid", str(BOX_USER_ID)]
        words += ["--cap-drop", "ALL"]
    else:
        words += ["--cap-drop", "ALL"]
        # setpriv needs these for a moment and gives them up before any other program starts.
        for capability in capabilities:
            words += ["--cap-add", capability]
    return words


def _places(view: View, made: set[str], *, scratch_mb: int) -> list[str]:
    """What is shown, and what may be written: /tmp with the home, and /dev/shm."""
    words = ["--proc", "/proc", "--dev", "/dev"]
    words += _tmpfs("/dev/shm", SHARED_MEMORY_MB)
    words += ["--remount-ro", "/dev"]
    words += _tmpfs("/tmp", scratch_mb)
    words += ["--perms", "0777", "--dir", HOME]
    made |= {"/proc", "/dev", "/tmp"}
    for target, place in view.links:
        words += [*_parents(place, made), "--symlink", target, place]
    for source, place in view.binds:
        words += [*_parents(place, made), "--ro-bind", source, place]
        made.add(place)
    for place in view.covers:
        words += ["--perms", "0755", "--size", "4096", "--tmpfs", place, "--remount-ro", place]
    made.add(HOME)
    return words


def _tmpfs(place: str, size_mb: int) -> list[str]:
    return ["--size", str(size_mb * 1024 * 1024), "--perms", "1777", "--tmpfs", place]


def _parents(place: str, made: set[str], mode: str = "0755") -> list[str]:
    """Make the folders above `place` readable: bubblewrap would make them for its own user only."""
    missing = []
    above = posixpath.dirname(place)
    while above not in made:
        missing.append(above)
        made.add(above)
        above = posixpath.dirname(above)
    return [word for folder in reversed(missing) for word in ("--perms", mode, "--dir", folder)]


def inner(argv: list[str], limits: Limits, paths: Paths, *, user_id: int | None) -> list[str]:
    """The words after `--`: set the limits, become nobody (as root), then run `argv`.

    Process 1 of the box, which is bubblewrap's own, gets the same limits: in an ordinary user's box it runs as the same
    user as the student's code, which can take it over. From outside that could not be done at the right moment.
    """
    limited = " ".join([paths.prlimit, *(f"--{name}={value}" for name, value in rlimits(limits).items())])
    words = ["/bin/sh", "-c", f'{limited} --pid 1 && exec {limited} -- "$@"', "sh"]
    if user_id is not None:
        words += _nobody(paths, user_id)
    return [*words, *argv]


def is_root() -> bool:
    """True where boxes are built with root's own rights."""
    return os.name == "posix" and os.geteuid() == 0
