"""Find the course and load a lab of it: the only place where the autograder is given the answers.

A course is a folder with `solutions/`, `labs/` and `nbgrader_config.py`. Its solutions are code of ours and are imported; the
package itself never names them.
"""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.checks.check import Lab
from autograder.errors import CourseError, UsageError

COURSE_VARIABLE = "NORMALIZATION_COURSE"


@dataclass(frozen=True)
class CourseLab:
    """A lab with the notebook that students were given."""

    lab: Lab
    release: NotebookNode
    course: Path

    @property
    def name(self) -> str:
        """The lab's name, which is also its folder's and its notebook's."""
        return self.lab.name


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


def load_lab(course: Path, name: str) -> Lab:
    """Return the lab of that name; UsageError when there is none, CourseError when its files do not load."""
    known = lab_names(course)
    if name not in known:
        raise UsageError(f"There is no lab {name!r}. The labs of {course} are: {', '.join(known) or 'none'}.")
    if str(course) not in sys.path:
        sys.path.insert(0, str(course))
    try:
        lab = importlib.import_module(f"solutions.{name}.checks").LAB
    except Exception as error:
        raise CourseError(f"The checks of {name} do not load: {error!r}. Mend solutions/{name}/.") from error
    if not isinstance(lab, Lab):
        raise CourseError(f"solutions/{name}/checks.py must define LAB, a Lab; it holds a {type(lab).__name__}.")
    return lab


def load_course_lab(course: Path, name: str) -> CourseLab:
    """Return the lab with its release notebook; CourseError when the notebook has not been made."""
    lab = load_lab(course, name)
    path = course / "labs" / name / f"{name}.ipynb"
    try:
        release = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, nbformat.ValidationError) as error:
        raise CourseError(f"The notebook {path} cannot be read: {error}. Run `make labs`.") from error
    return CourseLab(lab, release, course)
