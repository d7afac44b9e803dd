"""The checks are checked: every mistake of every lab is caught and named, every honest variant is not.

One survey serves all tests of this file; it is the one that docs/labs/matrix.md and docs/tolerances.md are written from.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter
from pathlib import Path

import pytest

from autograder.authoring.margins import margins_table
from autograder.authoring.matrix import matrix_text, pages
from autograder.authoring.survey import Caught, Survey, shown, survey, variants_of
from autograder.grading.course import lab_names, load_lab
from autograder.grading.judge import Judge, namespace
from autograder.probe.run import run

COURSE = Path(__file__).resolve().parents[2]
LABS = lab_names(COURSE)
SAMPLE = 20  # every twentieth mistake is tried with other seeds too
OTHER_SEEDS = (2, 2**31 - 1)
MOST_HONEST, LEAST_WRONG = 0.5, 3.0  # tolerances

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def surveys() -> dict[str, Survey]:
    """The survey of each lab: 80 seconds of work for lab 1, so it is made once."""
    return {name: survey(load_lab(COURSE, name), variants_of(COURSE, name)) for name in LABS}


@pytest.fixture(params=LABS)
def found(surveys: dict[str, Survey], request: pytest.FixtureRequest) -> Survey:
    """One lab's survey."""
    return surveys[request.param]


def those(caught: list[Caught]) -> list[str]:
    """Name mistakes, for the message of a failed test."""
    return [
        f"{entry.mistake.id}: made for {entry.mistake.check}, fails {entry.failed}, {entry.named}" for entry in caught
    ]


def test_every_mistake_fails_the_check_made_for_it(found: Survey) -> None:
    """A check that lets its own mistake pass promises what it does not keep."""
    assert those([entry for entry in found.caught if entry.mistake.check not in entry.failed]) == []


def test_every_scenario_asks_for_something(found: Survey) -> None:
    """One that is only about what its check does not look at asks nothing, and nobody sees that."""
    assert found.idle == ()


def test_every_mistake_costs_points(found: Survey) -> None:
    """So fewer than full points are kept."""
    points = {check.name: check.points for check in found.lab.checks}
    assert those([entry for entry in found.caught if sum(points[name] for name in entry.failed) <= 0]) == []


def test_every_mistake_is_named(found: Survey) -> None:
    """In its own check, by its own name, or by one that nothing in the exercise tells apart from it."""
    wrong = [
        entry for entry in found.caught if entry.named.get(entry.mistake.check) not in {entry.mistake.id, *entry.twins}
    ]
    assert those(wrong) == []


def test_twins_are_rare(found: Survey) -> None:
    """Two mistakes that always show the same are one mistake written twice."""
    assert sum(entry.named.get(entry.mistake.check) != entry.mistake.id for entry in found.caught) <= 3


def test_no_name_is_given_in_vain(found: Survey) -> None:
    """Wherever a mistake fails a check, the name that it gets there is its own, a twin's, or none."""
    wrong = [entry for entry in found.caught if not {*entry.named.values()} <= {entry.mistake.id, *entry.twins, None}]
    assert those(wrong) == []


def test_every_variant_gets_full_marks(found: Survey) -> None:
    """Without exception, in every check of every name that it defines."""
    assert [entry for entry in found.honest if entry.message] == []
    tried = Counter(entry.variant for entry in found.honest)
    asked = sum(check.exercise in found.lab.contract for check in found.lab.checks)
    assert set(tried.values()) == {asked}
    assert set(tried) == {variant.id for variant in variants_of(COURSE, found.lab.name)}


def test_every_contract_check_has_a_mistake(found: Survey) -> None:
    """A check that nothing fails is not known to check anything."""
    made_for = {entry.mistake.check for entry in found.caught}
    assert {check.name for check in found.lab.checks if check.contract} <= made_for


def test_every_variant_stays_well_inside_the_tolerance(found: Survey) -> None:
    """Half of it: how an honest answer rounds must not matter on another machine either."""
    assert [entry for entry in found.honest if entry.error > MOST_HONEST] == []


def test_every_mistake_lies_well_outside_the_tolerance(found: Survey) -> None:
    """Where numbers give it away: three times as far, in at least one scenario of its own check."""
    by_numbers = [entry for entry in found.caught if entry.excess is not None]
    assert len(by_numbers) > len(found.caught) / 2
    assert [(e.mistake.id, e.excess) for e in by_numbers if e.excess is None or e.excess < LEAST_WRONG] == []


def test_the_page_of_the_matrix_is_fresh(surveys: dict[str, Survey]) -> None:
    """docs/labs/matrix.md says what the checks do now; `python -m autograder.authoring.matrix` writes it anew."""
    assert pages(COURSE)[0].read_text(encoding="utf-8") == matrix_text(list(surveys.values()))


def test_the_page_of_the_margins_is_fresh(surveys: dict[str, Survey]) -> None:
    """Each check has its row in docs/tolerances.md, with errors of the size that is measured now."""
    written = _rows(pages(COURSE)[1].read_text(encoding="utf-8"))
    measured = _rows("\n".join(margins_table(found) for found in surveys.values()))
    assert written.keys() == measured.keys()
    for check, numbers in measured.items():
        # The last digits of a rounding error are the machine's.
        assert written[check] == pytest.approx(numbers, rel=3.0, abs=0.05), check


def _rows(page: str) -> dict[str, list[float]]:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    return {
        row[0]: [float(cell or 0) for cell in row[1::2]] for row in rows if re.fullmatch(r"[a-z0-9]+-[a-z-]+", row[0])
    }


@pytest.mark.parametrize("seed", OTHER_SEEDS)
@pytest.mark.parametrize("name", LABS)
def test_other_seeds_catch_and_name_mistakes_too(name: str, seed: int) -> None:
    """A sample of them, each in its own check: the scenarios of no seed are the lucky ones."""
    lab = load_lab(COURSE, name)
    judge, missed = Judge(lab, seed), []
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for mistake in lab.mistakes[seed % SAMPLE :: SAMPLE]:
            check = lab.check(mistake.check)
            given = {check.name: shown(judge, mistake, check)}
            passed = judge.verdict(check, given[check.name]).passed
            if passed or judge.diagnosis(check, given) is None:
                missed.append((mistake.id, "passes" if passed else "is not named"))
    assert missed == []


@pytest.mark.parametrize("seed", OTHER_SEEDS)
@pytest.mark.parametrize("name", LABS)
def test_other_seeds_let_variants_pass(name: str, seed: int) -> None:
    """A sample of these as well, in every check."""
    judge = Judge(load_lab(COURSE, name), seed)
    for variant in variants_of(COURSE, name)[seed % 6 :: 6]:
        names = namespace(variant.file, variant.id)
        for check in judge.lab.checks:
            if check.contract:
                result = judge.verdict(check, run(judge.scenarios(check), names))
                assert result.passed, (variant.id, check.name, result.message)
