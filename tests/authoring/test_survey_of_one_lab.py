"""`python -m autograder.authoring.matrix LAB` shows an author what is wrong with a lab, and writes no page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.authoring import matrix
from autograder.authoring.matrix import faults
from autograder.authoring.survey import survey
from autograder.grading.course import COURSE_VARIABLE, load_lab
from tests.example_course import LAB, edit, loadable, write_course


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The course of the example lab, found by its variable."""
    root = write_course(tmp_path / "course")
    monkeypatch.setenv(COURSE_VARIABLE, str(root))
    with loadable(root):
        yield root


def printed(capsys: pytest.CaptureFixture[str], expect: int) -> list[str]:
    """What the program prints, line by line."""
    assert matrix.main([LAB]) == expect
    return capsys.readouterr().out.splitlines()


def test_a_good_lab_gets_its_table(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing is written."""
    lines = printed(capsys, 0)
    assert "| unit-eps-added | - | **X** | - |  |" in lines
    assert lines[-1] == ""
    assert not (course / "docs").exists()


def test_what_is_wrong_stands_under_it(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistake that its check lets pass, and a variant that fails."""
    lab = course / "solutions" / LAB
    edit(lab / "checks.py", ("), 0.5)", "), 1e-9)"))
    edit(lab / "variants.py", ("max(length, eps)", "max(length, 2)"))
    lines = printed(capsys, 1)
    assert any(line.startswith("unit-eps-added passes unit-floor, the check made for it; add") for line in lines)
    assert any(
        line.startswith("loop-over-rows fails unit-rows, which asks for more than was said: x of") for line in lines
    )


def test_a_mistake_that_gets_another_s_name_is_a_fault(course: Path) -> None:
    """Unless nothing tells the two apart."""
    found = survey(load_lab(course, LAB), ())
    first = found.caught[0]
    other = replace(first, named={first.mistake.check: "unit-other"})
    assert list(faults(found)) == []
    (sentence,) = faults(replace(found, caught=(other,)))
    assert sentence.startswith("unit-columns is named unit-other in unit-rows; add a scenario")
    (sentence,) = faults(replace(found, caught=(replace(first, named={first.mistake.check: None}),)))
    assert sentence.startswith("unit-columns is named by nothing in unit-rows")
    assert list(faults(replace(found, caught=(replace(other, twins=frozenset({"unit-other"})),)))) == []


def test_a_scenario_that_asks_for_nothing_is_a_fault(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is only about what its check does not look at: every answer would pass."""
    edit(
        course / "solutions" / LAB / "checks.py",
        ('{"x": x, "eps": 1e-9}),)),', '{"x": x, "eps": 1e-9}),), ("x.grad",)),'),
    )
    last = printed(capsys, 1)[-1]
    assert last.startswith("unit-manners looks at nothing that its scenario 'arguments by keyword' is about; add")


def test_an_unknown_lab_is_a_usage_error(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the labs that there are."""
    assert matrix.main(["lab77_none"]) == 2
    assert capsys.readouterr().err.startswith("There is no lab 'lab77_none'. The labs of")
