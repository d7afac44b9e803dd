"""The shipped fingerprints are fresh, and practice names what grading names: a fifth of all mistakes is run and compared.

`autograder labs check` compares the digests of all mistakes, and the reference's numbers. What that cannot see is a change of
the package that lets the same sources show something else; it would show in these. One run serves all tests of a lab.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from autograder.authoring import fingerprints
from autograder.authoring.practice import PRACTICE_SEED
from autograder.authoring.survey import exercise_of
from autograder.checks.check import Check, Lab, Mistake
from autograder.checks.compare import Expected
from autograder.checks.fingerprint import reduced
from autograder.grading.course import lab_names, load_lab
from autograder.grading.judge import Judge
from autograder.practice.file import KNOWN, PracticeLab, practice_labs
from autograder.practice.naming import names_of
from autograder.trace.trace import Observation, Seen, Tensor, Trace

COURSE = Path(__file__).resolve().parents[2]
LABS = [name for name in lab_names(COURSE) if name in {lab.name for lab in practice_labs()}]
EVERY = 5  # of the mistakes, is run
EVERY_SHIFTED = 10

pytestmark = pytest.mark.slow


@cache
def judge_of(name: str) -> Judge:
    """The judge of a lab with practice's own scenarios; it keeps what the mistakes show."""
    return Judge(load_lab(COURSE, name), PRACTICE_SEED)


def shelf_of(name: str) -> PracticeLab:
    """The lab as a student has it."""
    return next(lab for lab in practice_labs() if lab.name == name)


def shown(judge: Judge, mistake: Mistake) -> dict[str, list[Trace]]:
    """What a mistake shows in all checks of its exercise."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return {
            check.name: [judge.mistaken(mistake, check, place) for place in range(len(judge.scenarios(check)))]
            for check in exercise_of(judge.lab, mistake.exercise)
        }


def names(lab: PracticeLab, check: str, given: Mapping[str, Sequence[Trace]]) -> list[str]:
    """The mistakes that practice names."""
    return [entry.id for entry in names_of(lab, lab.checks[check], given[check], lambda other: given[other.name])]


def failed(judge: Judge, given: Mapping[str, Sequence[Trace]]) -> list[str]:
    """The checks that do not pass."""
    return [name for name, traces in given.items() if not judge.verdict(judge.lab.check(name), traces).passed]


def test_every_lab_has_a_practice_file() -> None:
    assert lab_names(COURSE) == tuple(LABS)


@pytest.mark.parametrize("name", LABS)
def test_a_mistake_still_shows_what_its_fingerprint_says(name: str) -> None:
    """On this machine, with this torch."""
    judge, shelf = judge_of(name), shelf_of(name)
    stale = [
        sentence
        for exercise in fingerprints.exercises(judge.lab)
        for sentence in fingerprints.unlike(
            judge,
            exercise,
            {check.name: shelf.expected(check.name) for check in exercise_of(judge.lab, exercise)},
            shelf.read(exercise + KNOWN).decode(),
            EVERY,
        )
    ]
    assert stale == []


@pytest.mark.parametrize("name", LABS)
def test_practice_names_what_grading_names(name: str) -> None:
    """In each check that a mistake fails: itself or its equal, as the judge does who has the mistakes at hand."""
    judge, shelf, other = judge_of(name), shelf_of(name), []
    for mistake in judge.lab.mistakes[::EVERY]:
        given = shown(judge, mistake)
        for check in failed(judge, given):
            wanted = [diagnosis.id for diagnosis in judge.diagnoses(judge.lab.check(check), given)]
            found = names(shelf, check, given)
            if found != wanted:
                other.append((mistake.id, check, found, wanted))
    assert other == []


@pytest.mark.parametrize("size", [0.01, 3.0])
@pytest.mark.parametrize("name", LABS)
def test_a_mistake_with_an_error_of_ones_own_on_top_is_not_named(name: str, size: float) -> None:
    """Every number is moved, by a hundredth or by more than all of it: nobody has named that."""
    judge, shelf, stream = judge_of(name), shelf_of(name), np.random.default_rng(0)
    lab: Lab = judge.lab
    for mistake in lab.mistakes[::EVERY_SHIFTED]:
        check = lab.check(mistake.check)
        plain = shown(judge, mistake)
        given = {key: [_shifted(trace, size, stream) for trace in traces] for key, traces in plain.items()}
        pairs = zip(shelf.expected(check.name), plain[check.name], given[check.name], strict=True)
        if any(_moved(check, *three) for three in pairs):
            assert names(shelf, check.name, given) == [], mistake.id


def _moved(check: Check, expected: Expected, plain: Trace, given: Trace) -> bool:
    """Tell whether a number has moved that this scenario is about."""
    steps = zip(reduced(check, expected, plain), reduced(check, expected, given), strict=True)
    return any(not np.array_equal(a.numbers[key], b.numbers[key]) for a, b in steps for key in a.numbers)


def _is_number(value: Seen) -> bool:
    return isinstance(value, Tensor) and value.array.dtype.kind == "f" and value.array.size > 0


def _shifted(trace: Trace, size: float, stream: np.random.Generator) -> Trace:
    def moved(value: Seen) -> Seen:
        if not (isinstance(value, Tensor) and _is_number(value)):
            return value
        largest = float(np.nan_to_num(np.abs(value.array)).max()) + 1.0
        shift = stream.uniform(0.5, 1.0, value.array.shape) * stream.choice([-1, 1], value.array.shape) * size * largest
        return Tensor(value.dtype, np.asarray(value.array + shift, dtype=value.array.dtype))

    steps = tuple(Observation({a: moved(v) for a, v in o.seen.items()}, o.failure) for o in trace.observations)
    return replace(trace, observations=steps)
