"""Run everything that a lab knows to be wrong, and everything that it knows to be right, through its own checks.

It is how the checks are checked: `matrix` and `margins` write what comes out as pages, the tests demand that it is good. It runs
our own sources in this process; nothing of a student's is near.
"""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autograder.checks.check import Check, Lab, Mistake, Variant
from autograder.checks.compare import Expected
from autograder.checks.diagnose import alike
from autograder.checks.tolerance import numbers
from autograder.errors import CourseError
from autograder.grading.judge import Judge, namespace
from autograder.probe.run import run
from autograder.trace.scenario import matches
from autograder.trace.trace import Trace

SURVEY_SEED = 1


@dataclass(frozen=True)
class Caught:
    """What happened to one mistake: the checks that it failed, the name that the diagnosis gave it in each of them.

    `excess` is the largest error of a number of its own check, in tolerances; None where no number is off, but something else.
    `twins` are mistakes that show the same in every check of the exercise: nothing can tell them apart.
    """

    mistake: Mistake
    failed: tuple[str, ...]
    named: Mapping[str, str | None]
    excess: float | None
    twins: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Honest:
    """What happened to one variant in one check: a message if it failed, its largest error in tolerances."""

    variant: str
    check: str
    message: str
    error: float


@dataclass(frozen=True)
class Survey:
    """All of a lab's mistakes and variants, for one seed."""

    lab: Lab
    seed: int
    caught: tuple[Caught, ...]
    honest: tuple[Honest, ...]
    idle: tuple[tuple[str, str], ...] = ()
    """The checks and scenarios that ask for nothing."""


def survey(lab: Lab, variants: Sequence[Variant], seed: int = SURVEY_SEED) -> Survey:
    """Return how a lab's checks deal with its mistakes and with honest variants; some 90 seconds for a large lab."""
    judge = Judge(lab, seed)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        caught = tuple(_caught(judge, mistake) for mistake in lab.mistakes)
        honest = tuple(found for variant in variants for found in _honest(judge, variant))
    return Survey(lab, seed, caught, honest, tuple(_idle(judge)))


def variants_of(course: Path, lab: str) -> tuple[Variant, ...]:
    """Return the variants of a lab whose checks have been loaded from the course; CourseError where they do not load."""
    try:
        return tuple(importlib.import_module(f"solutions.{lab}.variants").VARIANTS)
    except Exception as error:
        raise CourseError(
            f"The variants of {lab} do not load from {course}: {error!r}. Mend solutions/{lab}/."
        ) from error


def exercise_of(lab: Lab, name: str) -> tuple[Check, ...]:
    """Return the checks of one exercise."""
    return tuple(check for check in lab.checks if check.exercise == name)


def _idle(judge: Judge) -> Iterator[tuple[str, str]]:
    """Yield the scenarios that are only about what their check does not look at."""
    for check in judge.lab.checks:
        for scenario, expected in zip(judge.scenarios(check), judge.expected(check), strict=True):
            if scenario.only != ("*",) and not any(expected.due(check.looks_at)):
                yield check.name, scenario.name


def _caught(judge: Judge, mistake: Mistake) -> Caught:
    checks = exercise_of(judge.lab, mistake.exercise)
    given = {check.name: shown(judge, mistake, check) for check in checks}
    failed = tuple(check.name for check in checks if not judge.verdict(check, given[check.name]).passed)
    found = {name: judge.diagnosis(judge.lab.check(name), given) for name in failed}
    named = {name: None if diagnosis is None else diagnosis.id for name, diagnosis in found.items()}
    others = [m for m in judge.lab.mistakes if m.id in named.values() and m.id != mistake.id]
    twins = frozenset(other.id for other in others if _are_twins(judge, checks, mistake, other))
    own = judge.lab.check(mistake.check)
    error = worst(own, judge.expected(own), given[own.name])
    return Caught(mistake, failed, named, error if error > 1 else None, twins)


def shown(judge: Judge, mistake: Mistake, check: Check) -> list[Trace]:
    """Return what a mistake shows in each scenario of a check."""
    return [judge.mistaken(mistake, check, place) for place in range(len(judge.scenarios(check)))]


def _are_twins(judge: Judge, checks: Sequence[Check], a: Mistake, b: Mistake) -> bool:
    return all(
        alike(check, expected, left, right)
        for check in checks
        for expected, left, right in zip(
            judge.expected(check), shown(judge, a, check), shown(judge, b, check), strict=True
        )
    )


def _honest(judge: Judge, variant: Variant) -> Iterator[Honest]:
    names = namespace(variant.file, variant.id)
    for check in judge.lab.checks:
        if check.exercise in variant.sources:
            traces = run(judge.scenarios(check), names)
            result = judge.verdict(check, traces)
            error = worst(check, judge.expected(check), traces)
            yield Honest(variant.id, check.name, "" if result.passed else result.message, error)


def worst(check: Check, expected: Sequence[Expected], given: Sequence[Trace]) -> float:
    """Return the largest error of the numbers that a check compares, in tolerances."""
    return max((ratio for e, t in zip(expected, given, strict=True) for ratio in _ratios(check, e, t)), default=0.0)


def _ratios(check: Check, expected: Expected, given: Trace) -> Iterator[float]:
    steps = zip(expected.truth.observations, given.observations, expected.tolerances, strict=False)
    for want, got, tolerances in steps:
        for address, tolerance in tolerances.items():
            if address in got.seen and check.looks_at(address) and matches(address, expected.only):
                a, b = numbers(want.seen[address]), numbers(got.seen[address])
                if a is not None and b is not None and a.shape == b.shape and a.size:
                    with np.errstate(invalid="ignore"):
                        gap = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
                    yield float(np.nan_to_num(gap, nan=np.inf, posinf=np.inf).max()) / tolerance
