"""A submission keeps its grade only when everything that its report rests on is as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autograder.commands.ledger import Ledger, graded_before, read_ledger
from autograder.grading.version import version_of
from autograder.grading.worker import Work
from autograder.sandbox.policy import Limits

LAB = "lab01_some"
WORK = Work(LAB, "1", "ann", b"a notebook", "", 7, Limits(), True)


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course with as much as decides a grade, and a ledger in which ann is."""
    for name in ("labs/lab01_some/lab01_some.ipynb", "solutions/lab01_some/checks.py", "solutions/reference/norm.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    ledger = read_ledger(tmp_path, LAB)
    ledger.note("ann", ledger.entry_of(WORK))
    ledger.save()
    return tmp_path


@pytest.mark.parametrize(
    ("work", "seed", "unchanged"),
    [
        (WORK, None, True),
        (WORK, 7, True),
        (replace(WORK, seed=8), None, True),  # the seed of this run, for those that it runs
        (WORK, 8, False),
        (replace(WORK, raw=b"another"), None, False),
        (replace(WORK, raw=None, unreadable="There is none."), None, False),
        (replace(WORK, student="bob"), None, False),
        (replace(WORK, limits=Limits(cpu_s=1)), None, False),
        (replace(WORK, sandboxed=False), None, False),
    ],
)
def test_what_counts_as_unchanged(course: Path, work: Work, seed: int | None, unchanged: bool) -> None:
    """The bytes, the limits, the sandbox, and the seed where one is asked for."""
    assert read_ledger(course, LAB).is_unchanged(work, seed) is unchanged


@pytest.mark.parametrize(
    "name", ["labs/lab01_some/lab01_some.ipynb", "solutions/lab01_some/checks.py", "solutions/reference/norm.py"]
)
def test_another_lab_is_another_version(course: Path, name: str) -> None:
    """The notebook, the checks, the references."""
    before = version_of(course, LAB)
    (course / name).write_text("2")
    assert version_of(course, LAB) != before
    assert not read_ledger(course, LAB).is_unchanged(WORK, None)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"entries": {"ann": {}}, "open_seed": 7}', '{"entries": []}'])
def test_a_ledger_that_cannot_be_read_is_empty(course: Path, text: str) -> None:
    """Then everything is graded again: better twice than never."""
    (course / "reports" / f"{LAB}.ledger.json").write_text(text)
    ledger = read_ledger(course, LAB)
    assert (ledger.entries, ledger.open_seed) == ({}, None)
    assert graded_before(course, LAB) == frozenset()


def test_who_stands_in_it_is_known_without_the_lab(course: Path) -> None:
    """Before the release is there, or while it is made anew."""
    (course / "labs/lab01_some/lab01_some.ipynb").unlink()
    assert graded_before(course, LAB) == {"ann"}
    assert graded_before(course, "lab02_other") == frozenset()


def test_it_is_replaced_in_one_step(course: Path) -> None:
    """No half-written file is left, and what was noted before stays."""
    ledger: Ledger = read_ledger(course, LAB)
    ledger.note("bob", ledger.entry_of(WORK))
    ledger.open_seed = 7
    ledger.save()
    assert sorted(path.name for path in (course / "reports").iterdir()) == [f"{LAB}.ledger.json"]
    again = read_ledger(course, LAB)
    assert sorted(again.entries) == ["ann", "bob"]
    assert again.open_seed == 7
