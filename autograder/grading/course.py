"""Load a lab of the course: the only place where the autograder is given the answers.

A course's solutions are code of ours and are imported; the package itself never names them. Where the course lies: place.py.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.checks.check import Lab
from autograder.errors import CourseError
from autograder.grading.place import COURSE_VARIABLE, find_course, known_lab, lab_names

if TYPE_CHECKING:
    from nbformat import NotebookNode

__all__ = ["COURSE_VARIABLE", "CourseLab", "find_course", "lab_names", "load_course_lab", "load_lab"]


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


def load_lab(course: Path, name: str) -> Lab:
    """Return the lab of that name; UsageError when there is none, CourseError when its files do not load."""
    known_lab(course, name)
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
    import nbformat

    lab = load_lab(course, name)
    path = course / "labs" / name / f"{name}.ipynb"
    try:
        release = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, nbformat.ValidationError) as error:
        raise CourseError(f"The notebook {path} cannot be read: {error}. Run `make labs`.") from error
    return CourseLab(lab, release, course)
