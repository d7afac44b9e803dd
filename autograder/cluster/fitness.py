"""What a run needs of every grader, and what a grader says of itself: data, and the comparison of the two.

A class that is graded by two versions is graded in two ways, so a grader that differs in anything that a report may show says so
and grades nothing.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from autograder.grading.version import other_version, version_of

PACKAGES = ("torch", "numpy", "ipykernel", "ipython")
"""What a student's code runs on: another version may show other digits, or word an error differently."""


@dataclass(frozen=True)
class Wanted:
    """What a run needs of every grader: the lab's version and the packages of the machine that asks."""

    lab: str
    version: str
    packages: dict[str, str]
    sandboxed: bool
    course: str | None = None  # on the machine that asks, and only there; another machine finds its own


@dataclass(frozen=True)
class About:
    """What a grader says of itself when it is ready: where it is, how its kernels start, and why it must not grade."""

    host: str
    kernels: str = ""
    trouble: str = ""


def wanted(course: Path, lab: str, *, sandboxed: bool, local: bool) -> Wanted:
    """Return what this machine grades with, which every other one must grade with too."""
    return Wanted(lab, version_of(course, lab), versions(), sandboxed, str(course) if local else None)


def versions() -> dict[str, str]:
    """Return the versions of what students' code runs on; a build's label, as torch's +cpu, is left out."""
    found = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name).partition("+")[0]
        except metadata.PackageNotFoundError:
            found[name] = "none"
    return found


def differences(course: Path, wanted: Wanted) -> str:
    """Return in what this machine differs from the one that asks, as a sentence, or nothing."""
    ours = versions()
    others = [
        f"{name} {ours[name]}, where the class is graded with {version}"
        for name, version in wanted.packages.items()
        if ours.get(name) != version
    ]
    if others:
        return f"it has {'; '.join(others)}. Install the versions of the course's constraints.txt on every machine."
    if not (course / "solutions" / wanted.lab / "checks.py").is_file():
        return f"the course in {course} has no {wanted.lab}. Put the same course on every machine."
    return other_version(wanted.lab, course, version_of(course, wanted.lab), wanted.version)
