"""A warm kernel and a cold one give the same report, letter by letter."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.grading.course import load_course_lab
from autograder.grading.grade import grade_notebook
from autograder.grading.judge import Judge
from autograder.kernel import launch
from autograder.sandbox.policy import Limits
from scripts.demo_class import LAB, members

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
COURSE = load_course_lab(ROOT, LAB.name)
JUDGE = Judge(LAB, 11)
SAME = {member.student: member for member in members(ROOT) if member.student in ("ada", "dana", "lena", "milo", "quin")}


@pytest.mark.parametrize("student", SAME)
def test_the_report_does_not_tell_warm_from_cold(student: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the work is right or wrong, ends its kernel or forges a score."""
    texts = []
    for rung in ("warm", "cold"):
        monkeypatch.setenv(launch.VARIABLE, rung)
        raw = SAME[student].content
        texts.append(grade_notebook(raw, COURSE, seed=11, limits=Limits(), student=student, judge=JUDGE).report.text())
    assert launch.why_cold() == "", "no warm kernel was tried"
    assert texts[0] == texts[1]
