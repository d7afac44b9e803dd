"""All that lint reads of one lab, loaded once: its data from solutions/, the author's notebook, and the released one.

Nothing is run but the lab's own modules, which are ours.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import nbformat
from nbformat import NotebookNode

from autograder.authoring.release import instructor_notebook
from autograder.authoring.survey import variants_of
from autograder.checks.check import Draw, Lab, Variant
from autograder.errors import CourseError
from autograder.grading.course import load_lab

T = TypeVar("T")


@dataclass(frozen=True)
class Material:
    """One lab as its author wrote it. A part that does not load is None, and `missing` says why."""

    course: Path
    lab: Lab
    variants: tuple[Variant, ...] | None
    behaviours: Mapping[str, str] | None  # what may cost points -> a pattern for the sentence that says so
    source: NotebookNode
    released: NotebookNode | None  # None where labs/ holds no readable notebook of it
    taken: Mapping[str, str]  # check names of the course's other labs -> the lab
    targets: Mapping[str, str]  # names that checks run -> the first check that does
    missing: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        """Where the author mends things, as a sentence names it."""
        return f"solutions/{self.lab.name}"


def load_material(course: Path, name: str, taken: Mapping[str, str]) -> Material:
    """Return a lab's material; CourseError where its checks or its notebook do not load, without which nothing can be said."""
    lab = load_lab(course, name)
    if lab.name != name:
        raise CourseError(
            f"solutions/{name}/checks.py: LAB is named {lab.name!r}; give it its folder's name, {name!r}."
        )
    source = nbformat.reads(instructor_notebook(course, name), as_version=4)  # type: ignore[no-untyped-call]
    missing: list[str] = []
    variants = _part(variants_of, course, name, missing)
    behaviours = _part(behaviours_of, course, name, missing)
    released = _released(course, name)
    return Material(course, lab, variants, behaviours, source, released, taken, _targets(lab), tuple(missing))


def _part(load: Callable[[Path, str], T], course: Path, name: str, missing: list[str]) -> T | None:
    try:
        return load(course, name)
    except CourseError as problem:
        missing.append(str(problem))
        return None


def behaviours_of(course: Path, lab: str) -> Mapping[str, str]:
    """Return what a lab may cost points for, with the pattern of the sentence that says so; CourseError where it is missing."""
    try:
        found = importlib.import_module(f"solutions.{lab}.behaviours").BEHAVIOURS
    except Exception as error:
        raise CourseError(
            f"The behaviours of {lab} do not load from {course}: {error!r}. Write solutions/{lab}/behaviours.py, "
            "with BEHAVIOURS, a dictionary from each thing that may cost points to a pattern for the sentence that says so."
        ) from error
    if not isinstance(found, Mapping):
        raise CourseError(
            f"solutions/{lab}/behaviours.py: BEHAVIOURS must be a dictionary; it is a {type(found).__name__}."
        )
    return found


def _targets(lab: Lab) -> dict[str, str]:
    found: dict[str, str] = {}
    for check in lab.checks:
        try:
            scenarios = check.scenarios(Draw(0, check.name))
        except Exception as error:
            sentence = f"solutions/{lab.name}/checks.py: the scenarios of {check.name!r} cannot be drawn: {error!r}; mend them."
            raise CourseError(sentence) from error
        for step in (step for scenario in scenarios for step in scenario.steps):
            if isinstance(target := getattr(step, "target", None), str):
                found.setdefault(target, check.name)
    return found


def _released(course: Path, name: str) -> NotebookNode | None:
    try:
        released: NotebookNode = nbformat.read(course / "labs" / name / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
        return released
    except (OSError, ValueError, KeyError, TypeError, AttributeError, nbformat.ValidationError):
        return None
