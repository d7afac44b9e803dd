"""`autograder labs lint`: is a lab all of a piece? One sentence for each thing that is off.

It compares names, points, cells, words, mistakes and pages with one another. It runs no check and no cell: whether the checks
catch the mistakes is the survey's business, whether labs/ is fresh that of `labs check`. Each rule is a function from a
`Material` to sentences that say what is wrong, where, and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from autograder.authoring.lint_catalogue import mistakes_are_sound, pages_exist, variants_are_whole
from autograder.authoring.lint_release import nothing_leaks
from autograder.authoring.lint_text import cells_and_checks_pair, names_are_free, points_add_up, text_says_it
from autograder.authoring.material import Material, load_material
from autograder.authoring.release import labs
from autograder.errors import CourseError, UsageError
from autograder.grading.course import lab_names, load_lab

RULES: tuple[Callable[[Material], Iterator[str]], ...] = (
    names_are_free,
    cells_and_checks_pair,
    points_add_up,
    text_says_it,
    nothing_leaks,
    mistakes_are_sound,
    variants_are_whole,
    pages_exist,
)


def lint(course: Path, names: Sequence[str] = ()) -> list[str]:
    """Return a sentence for each thing that is off in the named labs (all of them if none is named).

    Raises UsageError for a lab that the course does not have. A lab that does not load is a finding, and hides no other's.
    """
    known = sorted({*labs(course), *lab_names(course)})
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"There is no lab {unknown[0]!r}. The labs of {course} are: {', '.join(known) or 'none'}.")
    sentences: list[str] = []
    owners = _owners(course)
    for name in names or known:
        if name not in lab_names(course):
            sentences.append(f"{name}: solutions/{name} has no checks.py; write it, with LAB, or take the folder away.")
            continue
        taken = {check: owner for check, owner in owners if owner != name}
        try:
            sentences += lint_material(load_material(course, name, taken))
        except CourseError as problem:
            sentences.append(f"{name}: {problem}")
    return sentences


def lint_material(material: Material) -> list[str]:
    """Return a sentence for each thing that is off in one lab."""
    said = [sentence for rule in RULES for sentence in rule(material)]
    return [*(f"{material.lab.name}: {sentence}" for sentence in material.missing), *said]


def _owners(course: Path) -> list[tuple[str, str]]:
    """Return every check of the course with its lab; a lab that does not load owns none."""
    owners = []
    for name in lab_names(course):
        try:
            owners += [(check.name, name) for check in load_lab(course, name).checks]
        except CourseError:
            continue
    return owners
