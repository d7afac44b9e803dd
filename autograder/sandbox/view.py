"""What a boxed process can see of this machine's files: a list of read-only binds, worked out once.

The rule is a list of what is shown, never of what is hidden: the parts of /usr that hold programs, the parts of the
Python installation and of its virtual environment that hold code, and the pieces of this package that a lab imports.
Whatever lies beside them (the course, the gradebook, the homes) does not exist in the box.
"""

from __future__ import annotations

import os
import site
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import autograder
from autograder.errors import SandboxError

PACKAGE_PATH = "/opt/autograder"
"""Where the box finds the package `autograder`, cut down to PACKAGE_PARTS."""

PACKAGE_PARTS = ("__init__.py", "errors.py", "trace", "probe", "checks", "practice", "student.py", "template")

SYSTEM_PARTS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec", "share")
"""Of /usr; neither /usr/local nor /usr/src, where people keep things of their own."""

PREFIX_PARTS = ("bin", "lib", "lib32", "lib64", "libexec", "include", "share", "ssl", "pyvenv.cfg")
"""Of a Python prefix; a virtual environment made in a course's own folder must not show the course."""

ETC_PARTS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "fonts", "mime.types")


@dataclass(frozen=True)
class View:
    """Read-only binds (source, place), links (target, place), places kept empty, and how to start Python there."""

    binds: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]
    covers: tuple[str, ...]
    python: str
    path: str
    python_path: str


@lru_cache(maxsize=1)
def view() -> View:
    """The view for the interpreter that runs now."""
    binds: dict[str, str] = {}  # place -> source
    links: dict[str, str] = {}  # place -> target
    for part in SYSTEM_PARTS:
        _show(binds, links, f"/usr/{part}")
        _show(binds, links, f"/{part}")
    for part in (*ETC_PARTS, f"python3.{sys.version_info.minor}"):
        if os.path.exists(f"/etc/{part}"):
            binds[f"/etc/{part}"] = os.path.realpath(f"/etc/{part}")
    # Some libraries count the processors here, and torch complains on its standard error where it is missing.
    if os.path.isdir("/sys/devices/system/cpu"):
        binds["/sys/devices/system/cpu"] = "/sys/devices/system/cpu"
    for prefix in _prefixes():
        for part in PREFIX_PARTS:
            place = os.path.join(prefix, part)
            if os.path.exists(place) and not _inside(place, binds):
                binds[place] = os.path.realpath(place)
    python_path = [PACKAGE_PATH]
    for folder in _site_folders():
        if not _inside(folder, binds):
            binds[folder] = folder
        if folder == _user_site():
            python_path.append(folder)  # HOME differs in the box, so that Python would not find it
    for place, target in _hops(sys.executable):
        if not _inside(place, binds):
            links[place] = target
    source = Path(autograder.__file__).resolve().parent
    for part in PACKAGE_PARTS:
        if (source / part).exists():
            binds[f"{PACKAGE_PATH}/autograder/{part}"] = str(source / part)
    return View(
        binds=tuple((origin, place) for place, origin in binds.items()),
        links=tuple((target, place) for place, target in links.items()),
        covers=_covers(source, binds),
        python=sys.executable,
        path=f"{os.path.dirname(sys.executable)}:/usr/bin:/bin",
        python_path=":".join(python_path),
    )


def _show(binds: dict[str, str], links: dict[str, str], place: str) -> None:
    if os.path.islink(place):
        links[place] = os.readlink(place)  # /bin -> usr/bin on a merged system
    elif os.path.isdir(place):
        binds[place] = place


def _prefixes() -> list[str]:
    named = [sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix]
    # The executable's links may lead to the same folder by its other name, so both names are shown.
    both = [path for prefix in named for path in (os.path.abspath(prefix), os.path.realpath(prefix))]
    if "/" in both:
        raise SandboxError(
            "Python's own folder is the root of the file system, which cannot be shown to students. "
            "Run the autograder from a virtual environment (`python -m venv .venv`)."
        )
    return list(dict.fromkeys(path for path in both if path != "/usr"))


def _user_site() -> str | None:
    return site.getusersitepackages() if site.ENABLE_USER_SITE else None


def _site_folders() -> list[str]:
    folders = [*site.getsitepackages(), _user_site()]
    return [path for path in folders if path and path in sys.path and os.path.isdir(path)]


def _hops(executable: str) -> list[tuple[str, str]]:
    """The chain of links from a virtual environment's `python` to the file: (place, target), at most 16."""
    hops: list[tuple[str, str]] = []
    place = executable
    while os.path.islink(place) and len(hops) < 16:
        target = os.readlink(place)
        hops.append((place, target))
        place = os.path.normpath(os.path.join(os.path.dirname(place), target))
    return hops


def _covers(source: Path, binds: dict[str, str]) -> tuple[str, ...]:
    """Places inside a shown folder that must stay empty: this package where it is installed, or a course around it."""
    course = source.parent if (source.parent / "pyproject.toml").exists() else source
    return tuple(
        os.path.join(place, course.relative_to(origin))
        for place, origin in binds.items()
        if course.is_relative_to(origin) and not place.startswith(PACKAGE_PATH)
    )


def _inside(path: str, places: dict[str, str]) -> bool:
    return any(path == place or path.startswith(place + "/") for place in places)
