"""The classes that everything here grades: a fixed mix of right and wrong submissions, from the labs' variants and mistakes.

A submission is the text of each solution cell. Of a class, a share has written everything right, each in some style; the others
have one or two named mistakes, or left an exercise out. All texts differ, so that no grader can win by knowing one again. Nothing
here loops for ever or kills its kernel: how such a one ends is a matter of time limits, and would say nothing about speed.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.authoring.filling import grade_id, is_answer
from autograder.authoring.release import instructor_notebook
from autograder.authoring.stubs import CODE_STUB
from autograder.authoring.survey import variants_of
from autograder.grading.course import load_lab
from autograder.grading.grade import SKIP_TAG

SEED = 2015
LABS = {"lab1": "lab01_batch_norm", "training": "lab05_normalization_effects"}
# How many exercises of a submission are spoiled by a mistake; "unwritten": one was left out.
WRONG = {"right": 0, "one mistake": 1, "two mistakes": 2, "unwritten": 0}
# Twenty in a row have the whole class' shares, so that a few are like the many.
LETTERS = {"R": "right", "1": "one mistake", "2": "two mistakes", "U": "unwritten"}
KINDS = tuple(LETTERS[letter] for letter in "R1R2R1UR1R1R2R1RU12R")


@dataclass(frozen=True)
class Submission:
    """Who handed in, what kind it is (a word of WRONG), and what stands in each solution cell."""

    student: str
    kind: str
    cells: Mapping[str, str]


@dataclass(frozen=True)
class Material:
    """What submissions of a lab are made of: the cells as the lab's author filled them, and other code for some of them."""

    solved: Mapping[str, str]
    written: Mapping[str, str]
    right: Mapping[str, tuple[str, ...]]
    wrong: Mapping[str, tuple[str, ...]]


def class_of(course: Path, lab: str, students: int, seed: int = SEED) -> tuple[Submission, ...]:
    """Return a class; its first submissions are those of a smaller class with the same seed."""
    return drawn(material(course, lab), students, seed)


def drawn(given: Material, students: int, seed: int) -> tuple[Submission, ...]:
    """Return a class made from some material."""
    return tuple(_submission(given, number, random.Random(f"{seed} {number}")) for number in range(students))


def _submission(given: Material, number: int, chance: random.Random) -> Submission:
    student, kind = f"s{number:05d}", KINDS[number % len(KINDS)]
    cells = dict(given.solved)
    for name, styles in given.right.items():
        cells[name] = chance.choice((cells[name], *styles))
    for name in chance.sample(sorted(given.wrong), min(WRONG[kind], len(given.wrong))):
        cells[name] = chance.choice(given.wrong[name])
    if kind == "unwritten":
        cells[chance.choice(sorted(given.wrong))] = CODE_STUB
    # A student's own line in each cell: two students never hand in the same bytes.
    signed = {name: f"# {student}\n{text}" for name, text in cells.items()}
    return Submission(student, kind, signed | {name: f"{text}\n\n({student})" for name, text in given.written.items()})


@cache
def material(course: Path, lab: str) -> Material:
    """Return what submissions of a lab can be made of."""
    loaded = load_lab(course, lab)
    answers = [cell for cell in instructors(course, lab).cells if is_answer(cell)]
    solved = {grade_id(cell): _unmarked(cell.source) for cell in answers if cell.cell_type == "code"}
    written = {grade_id(cell): cell.source for cell in answers if cell.cell_type != "code"}
    cell_of = {exercise: _cell_of(exercise, solved) for exercise in loaded.contract}
    right: dict[str, list[str]] = {cell: [] for cell in cell_of.values()}
    wrong: dict[str, list[str]] = {cell: [] for cell in cell_of.values()}
    for variant in variants_of(course, lab):
        for exercise, source in variant.sources.items():
            right[cell_of[exercise]].append(source)
    for mistake in loaded.mistakes:
        wrong[cell_of[mistake.exercise]].append(mistake.source)
    return Material(
        solved,
        written,
        {name: tuple(texts) for name, texts in right.items()},
        {name: tuple(texts) for name, texts in wrong.items() if texts},
    )


@cache
def instructors(course: Path, lab: str) -> NotebookNode:
    """Return the instructor's notebook of a lab."""
    notebook: NotebookNode = nbformat.reads(instructor_notebook(course, lab), as_version=4)
    return notebook


def without_experiments(notebook: NotebookNode) -> NotebookNode:
    """Return a copy without the cells that this course's grader skips (experiments of half a minute): nobody has to run them."""
    made = copy.deepcopy(notebook)
    made.cells = [cell for cell in made.cells if SKIP_TAG not in cell.metadata.get("tags", ())]
    return made


def kinds(submissions: Sequence[Submission]) -> dict[str, int]:
    """Return how many of each kind a class has."""
    return {word: sum(s.kind == word for s in submissions) for word in WRONG}


def _cell_of(exercise: str, solved: Mapping[str, str]) -> str:
    defines = re.compile(rf"^(class|def) {exercise}\b", re.MULTILINE)
    (name,) = (name for name, source in solved.items() if defines.search(source))
    return name


def _unmarked(source: str) -> str:
    return re.sub(r"^\s*### (BEGIN|END) SOLUTION\n?", "", source, flags=re.MULTILINE)
