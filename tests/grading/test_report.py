"""A report is plain data: it comes back from JSON as it went, and the same report is the same text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.grading.report import CheckResult, Diagnosis, Report, total

WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=10)
POINTS = st.floats(0, 100)
DIAGNOSES = st.builds(Diagnosis, WORDS, WORDS, WORDS, WORDS)
RESULTS = st.builds(
    CheckResult, WORDS, WORDS, WORDS, POINTS, POINTS, st.booleans(), WORDS, st.none() | DIAGNOSES, st.none() | WORDS,
    st.lists(WORDS, max_size=3).map(tuple),
)  # fmt: skip
REPORTS = st.builds(
    Report, WORDS, WORDS, st.integers(0, 2**63), POINTS, POINTS, st.lists(RESULTS, max_size=3).map(tuple), WORDS,
    st.lists(WORDS, max_size=3).map(tuple),
)  # fmt: skip


@given(REPORTS)
def test_a_report_comes_back(report: Report) -> None:
    """Through its text, which any JSON reader can read and UTF-8 can hold."""
    assert Report.from_json(json.loads(report.text().encode().decode())) == report
    assert Report.from_json(report.to_json()) == report


@given(REPORTS)
def test_the_same_report_is_the_same_text(report: Report) -> None:
    """Byte by byte: keys in order, nothing of the clock, one line end at the end."""
    text = report.text()
    assert Report.from_json(json.loads(text)).text() == text
    assert text.endswith("}\n")
    assert list(json.loads(text)) == sorted(json.loads(text))


def test_a_report_of_another_shape_is_refused() -> None:
    """A field that nobody knows is an error, not silence."""
    body = Report("lab", "s", 1, 0, 0, ()).to_json()
    with pytest.raises(TypeError):
        Report.from_json(body | {"grade": 100})
    with pytest.raises(KeyError):
        Report.from_json({"lab": "lab"})


def test_points_are_the_sum_of_the_checks() -> None:
    """Those earned and those to be had."""
    checks = tuple(CheckResult(str(n), "E", "t", earned, 4, earned == 4, "m") for n, earned in enumerate((4, 0, 1.5)))
    report = total("lab", "ada", 7, checks, "bubblewrap", ("note",))
    assert (report.points, report.max_points) == (5.5, 12)
    assert (report.lab, report.student, report.seed, report.notes) == ("lab", "ada", 7, ("note",))
    assert total("lab", "", 0, (), "", ()).points == 0


def test_a_result_is_found_by_its_check() -> None:
    """Or there is none."""
    check = CheckResult("a", "E", "t", 0, 1, False, "m")
    assert Report("lab", "s", 1, 0, 1, (check,)).check("a") is check
    assert Report("lab", "s", 1, 0, 1, (check,)).check("b") is None
