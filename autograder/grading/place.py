"""Where the course lies and which labs it has: what can be said without loading any of it.

A course is a folder with `solutions/`, `labs/` and `nbgrader_config.py`. Only the standard library is imported here, so that a
command can refuse words that are off, and start what takes long, before it waits for torch.
"""

from __future__ import annotations

import os
from pathlib import Path

from autograder.errors import CourseError, UsageError

COURSE_VARIABLE = "NORMALIZATION_COURSE"


def find_course(start: Path | None = None) -> Path:
    """Return the course folder: the variable's, or the nearest one above `start` (the current folder), or the package's own."""
    named = os.environ.get(COURSE_VARIABLE)
    if named and not _is_course(Path(named)):
        raise CourseError(f"{COURSE_VARIABLE} names {named}, which holds no solutions/ folder; point it to the course.")
    begin = Path(named) if named else (start or Path.cwd())
    for folder in [begin, *begin.resolve().parents, Path(__file__).resolve().parents[2]]:
        if _is_course(folder):
            return folder.resolve()
    raise CourseError(
        f"No course is in {begin} or above it (a course holds solutions/ and nbgrader_config.py). "
        f"Change into the course's folder, or set {COURSE_VARIABLE} to it."
    )


def _is_course(folder: Path) -> bool:
    return (folder / "solutions").is_dir() and (folder / "nbgrader_config.py").is_file()


def lab_names(course: Path) -> tuple[str, ...]:
    """Return the names of the labs that the course has checks for."""
    return tuple(sorted(path.parent.name for path in (course / "solutions").glob("*/checks.py")))


def known_lab(course: Path, name: str) -> str:
    """Return the name of a lab; UsageError when the course has none of that name."""
    known = lab_names(course)
    if name not in known:
        raise UsageError(f"There is no lab {name!r}. The labs of {course} are: {', '.join(known) or 'none'}.")
    return name
