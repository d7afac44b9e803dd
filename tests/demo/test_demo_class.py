"""The sample class of `make demo`: seventeen different members, each wrong in the way that its story says.

The demo itself is not run again: it asserts its own grades. Here its members are looked at, and a few graded in this process.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from autograder.authoring.filling import grade_id, is_answer
from autograder.grading.judge import Judge, namespace
from autograder.grading.submission import UnreadableSubmission, read_notebook
from autograder.probe.run import run
from scripts import demo
from scripts.demo_class import CELLS, COMMON, EVERYTHING, LAB, STYLES, Member, members
from solutions.lab01_batch_norm.variants import VARIANTS

ROOT = Path(__file__).resolve().parents[2]


@cache
def the_class() -> dict[str, Member]:
    """All members by name."""
    return {member.student: member for member in members(ROOT)}


def book(student: str) -> NotebookNode:
    """The notebook of a member."""
    return nbformat.from_dict(json.loads(the_class()[student].content))


def sources(student: str) -> dict[str, str]:
    """The cells of a member that have a name."""
    return {grade_id(cell): cell.source for cell in book(student).cells if grade_id(cell)}


def lost(student: str, *prefixes: str) -> set[str]:
    """The checks that a member's own code fails, run in this process on the names of its cells."""
    judge = Judge(LAB, demo.SEED)
    names = namespace(
        "import torch\nfrom torch import nn\n" + "\n\n".join(sources(student)[cell] for cell in CELLS.values()), student
    )
    asked = [check for check in LAB.checks if check.contract and check.name.startswith(prefixes)]
    return {check.name for check in asked if not judge.verdict(check, run(judge.scenarios(check), names)).passed}


def test_there_are_seventeen_different_members() -> None:
    """Other names, other stories, other files."""
    found = the_class().values()
    assert len(found) == 17
    assert len({member.student for member in found}) == 17
    assert len({member.story for member in found}) == 17
    assert len({member.content for member in found}) == 17


def test_grades_are_as_different_as_a_class() -> None:
    """Full points, some points, none; every loss names checks that the lab has."""
    kept = {student: len(EVERYTHING) - len(member.loses) for student, member in the_class().items()}
    assert all(member.loses <= LAB.names for member in the_class().values())
    assert sum(count == len(EVERYTHING) for count in kept.values()) >= 4
    assert sum(count == 0 for count in kept.values()) == 2
    assert len(set(kept.values())) >= 7


@pytest.mark.parametrize("student", sorted(set(the_class()) - {"omar"}))
def test_a_members_file_is_a_notebook(student: str) -> None:
    """One that the grader reads."""
    assert len(read_notebook(the_class()[student].content).cells) > 20


def test_a_truncated_file_is_none() -> None:
    """And the sentence says so."""
    with pytest.raises(UnreadableSubmission, match="ends in the middle of a notebook"):
        read_notebook(the_class()["omar"].content)


def test_the_styles_are_variants_that_differ() -> None:
    """Unusual, and not the reference."""
    assert set(STYLES) <= {variant.id for variant in VARIANTS}
    assert len({tuple(sources(student)[cell] for cell in CELLS.values()) for student in ("ada", "bela", "chen")}) == 3


@pytest.mark.parametrize(("student", "wanted"), [*zip(("dana", "emil", "fay", "gus"), COMMON, strict=True)])
def test_a_common_mistake_is_the_labs_own(student: str, wanted: tuple[str, str, tuple[str, ...]]) -> None:
    """It stands in one cell, and loses what the demo says."""
    mistake = next(m for m in LAB.mistakes if m.id == wanted[0])
    assert mistake.check in wanted[2]
    right, wrong = sources("ada"), sources(student)
    assert {cell for cell in right if right[cell] != wrong[cell]} == {CELLS[mistake.exercise]}
    assert lost(student, mistake.check.partition("-")[0]) == set(the_class()[student].loses)


@pytest.mark.parametrize("student", ["ada", "bela", "chen", "pia"])
def test_an_honest_member_loses_nothing(student: str) -> None:
    """In any style, saved by any program."""
    assert the_class()[student].loses == frozenset()
    assert lost(student) == set()


@pytest.mark.parametrize("student", ["nora", "quin"])
def test_a_dishonest_or_old_layer_loses_its_exercise(student: str) -> None:
    """Torch's own layer, and the one of the older courses."""
    assert lost(student, "bn1d") == set(the_class()[student].loses)


def test_odd_files_are_odd_in_the_way_they_say() -> None:
    """Untouched, one cell missing, one broken, tampered, from Colab, with a copied test."""
    release = nbformat.read(ROOT / "labs" / LAB.name / f"{LAB.name}.ipynb", as_version=4)
    untouched = {grade_id(cell): cell.source for cell in release.cells if grade_id(cell)}
    assert sources("hana") == untouched
    assert "solve-bn2d" not in sources("ivan")
    with pytest.raises(SyntaxError):
        compile(sources("juno")["solve-backward"], "juno", "exec")
    tags = [cell.metadata for cell in book("milo").cells if grade_id(cell) in LAB.names]
    assert all(tag["nbgrader"]["points"] == 100 and "skip-execution" in tag["tags"] for tag in tags)
    assert book("pia").metadata["colab"] == {"provenance": []}
    assert [grade_id(cell) for cell in book("pia").cells].count("bn1d-training") == 2


def test_nobody_holds_a_solution_that_is_not_theirs() -> None:
    """A member whose exercise is replaced has the replacement in it, not the reference beside it."""
    for student in ("kofi", "lena", "milo", "nora", "quin"):
        right, theirs = sources("ada"), sources(student)
        assert sum(right[c] != theirs[c] for c in right if is_answer(_cell(student, c))) == 1


def _cell(student: str, wanted: str) -> NotebookNode:
    return next(cell for cell in book(student).cells if grade_id(cell) == wanted)
