"""Two mistakes of lab 1 in one submission: each is told somewhere, none is invented."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from autograder.checks.compose import hunks, restyled
from autograder.grading.judge import Judge, namespace
from autograder.grading.naming import named
from autograder.grading.report import CheckResult
from autograder.probe.run import run
from autograder.trace.trace import Trace
from solutions.lab01_batch_norm.checks import LAB
from solutions.lab01_batch_norm.mistakes import MISTAKES
from solutions.lab01_batch_norm.plain import PLAIN

BY_ID = {mistake.id: mistake for mistake in MISTAKES}
JUDGE = Judge(LAB, 5)


def both(first: str, second: str) -> str:
    """One source with both mistakes."""
    a, b = BY_ID[first], BY_ID[second]
    made = restyled(a.source, hunks(PLAIN[b.exercise], b.source), all_of_them=True)
    assert made is not None
    return made


def told(source: str, exercise: str) -> dict[str, tuple[str, ...]]:
    """The names that each failed check gets, the diagnosis first."""
    names = namespace(source, "two at once")
    checks = [check for check in LAB.checks if check.exercise == exercise]
    given: Mapping[str, list[Trace]] = {check.name: run(JUDGE.scenarios(check), names) for check in checks}
    results = named([JUDGE.verdict(check, given[check.name]) for check in checks], JUDGE, given)
    return {result.name: _names(result) for result in results if not result.passed}


def _names(result: CheckResult) -> tuple[str, ...]:
    return tuple(found.id for found in (result.diagnosis, *result.also) if found is not None)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("backward-parameters-averaged", "backward-mean-term-dropped"),  # different results
        ("backward-eps-argument-ignored", "backward-bias-averaged"),
        ("backward-bias-averaged", "backward-grad-weight-from-x"),  # the same check, different results
        ("biased-running-variance-1d", "eps-argument-ignored-1d"),  # different checks of a layer
    ],
)
def test_both_are_told(first: str, second: str) -> None:
    """By some check each, and nothing else is."""
    mistake = BY_ID[first]
    found = told(both(first, second), mistake.exercise)
    assert {name for names in found.values() for name in names} == {first, second}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("backward-centred-for-x-hat", "backward-weight-twice"),
        ("backward-divided-by-variance", "backward-averaged-over-features"),
    ],
)
def test_two_that_are_never_seen_alone_are_told_by_running_them_together(first: str, second: str) -> None:
    """Both spoil the same numbers everywhere, so no spot shows one of them; only their common source does."""
    found = told(both(first, second), "batch_norm_backward")
    assert {name for names in found.values() for name in names} == {first, second}


def test_two_in_one_check_are_told_together() -> None:
    """They show in different scenarios of it; no other check fails."""
    first, second = "momentum-none-as-default-1d", "affine-false-ignored-1d"
    found = told(both(first, second), "BatchNorm1d")
    assert {name: {*names} for name, names in found.items()} == {"bn1d-options": {first, second}}


def test_each_stands_in_front_where_there_are_two_checks() -> None:
    """Where a report has room for one name in a check."""
    first, second = "backward-bias-averaged", "backward-grad-weight-from-x"
    found = told(both(first, second), "batch_norm_backward")
    assert {names[0] for names in found.values()} == {first, second}, found


def test_where_one_hides_the_other_the_first_to_mend_is_told() -> None:
    """Without the root, nothing can be seen of where eps stands."""
    found = told(both("backward-scale-missing", "backward-parameters-sign"), "batch_norm_backward")
    assert {name for names in found.values() for name in names} <= {
        "backward-scale-missing",
        "backward-parameters-sign",
    }
    assert any(found.values())


def test_what_nobody_has_named_stays_unnamed() -> None:
    """Also when it resembles two mistakes at once."""
    strange = PLAIN["batch_norm_backward"].replace(
        "grad_bias = grad_out.sum(dim=0)", "grad_bias = grad_out.sum(dim=0) ** 2"
    )
    strange = strange.replace("mean_term = g.mean(dim=0)", "mean_term = g.median(dim=0).values")
    assert strange.count("median") == strange.count("** 2\n") == 1
    assert all(names == () for names in told(strange, "batch_norm_backward").values())
