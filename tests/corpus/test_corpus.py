"""Honest files that the grader's authors had not seen keep all points; wrong ones lose some, in the exercise that they spoil."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import wrong_backward
import wrong_builtin
import wrong_layers
from named import NAMED
from right import RIGHT
from right_layers import SCRIPTED
from running import graded

from autograder.grading.course import load_lab
from autograder.grading.grade import grade_source
from autograder.grading.report import CheckResult
from autograder.sandbox.policy import Limits
from solutions.lab01_batch_norm.plain import PLAIN

SEED = 20
ROOT = Path(__file__).resolve().parents[2]
WRONG = {**wrong_layers.WRONG, **wrong_builtin.WRONG, **wrong_backward.WRONG}
# Every so many run always, the others are marked slow.
OFTEN = 8


def _some(idents: list[str]) -> list[object]:
    """The ids as parameters, most of them marked slow."""
    return [pytest.param(i, id=i, marks=() if n % OFTEN == 0 else pytest.mark.slow) for n, i in enumerate(idents)]


def _told(results: list[CheckResult]) -> list[str]:
    return [f"{r.name}: {r.message} [{r.diagnosis.id if r.diagnosis else ''}]" for r in results if not r.passed]


def test_the_corpus_is_large() -> None:
    """Sixty honest files, a hundred and fifty wrong ones, in every exercise."""
    assert len(RIGHT) >= 60
    assert len(WRONG) >= 150
    assert {exercise for exercise, _ in WRONG.values()} == set(PLAIN)


@pytest.mark.parametrize("ident", _some(list(RIGHT)))
def test_an_honest_file_keeps_all_points(ident: str) -> None:
    """Whatever its style and its manners; and no mistake is named."""
    assert _told(graded(RIGHT[ident], SEED)) == []


@pytest.mark.parametrize("ident", _some(list(WRONG)))
def test_a_wrong_name_loses_points(ident: str) -> None:
    """In the exercise that it spoils; where a mistake is named, it is one that a reader of the source agrees with."""
    exercise, source = WRONG[ident]
    failed = [result for result in graded(source, SEED, (exercise,)) if not result.passed]
    assert failed
    assert {r.diagnosis.id for r in failed if r.diagnosis} <= NAMED.get(ident, set())


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SCRIPTED + "\n\n" + PLAIN["batch_norm_backward"], id="scripted"),
        pytest.param(RIGHT["raw-magics"], id="raw-magics"),
        pytest.param(RIGHT["notes-at-the-margin"], id="notes-at-the-margin"),
        pytest.param(RIGHT["old-mac-line-ends"], id="old-mac-line-ends"),
    ],
)
def test_an_honest_file_keeps_all_points_in_a_box(text: str) -> None:
    """The same in a real kernel, which knows magics and the source of a cell."""
    report = grade_source(text, load_lab(ROOT, "lab01_batch_norm"), seed=SEED, limits=Limits())
    assert [c.name for c in report.checks if not c.passed] == []


FATAL = {
    "leaves the process": "import os\n        os._exit(0)",
    "interrupts": "raise KeyboardInterrupt",
    "breaks the memory": "import ctypes\n        ctypes.string_at(0)",
}


@pytest.mark.sandbox
@pytest.mark.parametrize("what", FATAL)
def test_a_deadly_layer_costs_its_own_exercise_and_no_other(what: str) -> None:
    """The kernel dies in BatchNorm1d; the two other names keep their points."""
    start = "    def forward(self, x):\n"
    deadly = PLAIN["BatchNorm1d"].replace(start, f"{start}        {FATAL[what]}\n")
    text = "\n\n".join([deadly, PLAIN["BatchNorm2d"], PLAIN["batch_norm_backward"]])
    report = grade_source(text, load_lab(ROOT, "lab01_batch_norm"), seed=SEED, limits=Limits())
    assert {check.exercise for check in report.checks if not check.passed} == {"BatchNorm1d"}
    assert not any(
        check.points for check in report.checks if check.exercise == "BatchNorm1d" and check.name == "bn1d-training"
    )
