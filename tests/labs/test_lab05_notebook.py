"""What is special to lab 5: its predictions, the box on its first version, the numbers of its experiment.

What every lab promises is tested in test_notebooks.py.
"""

from __future__ import annotations

import re

import nbformat
import pytest
import torch
from lab_runs import ROOT, cell, error, printed, released, solved, text, untouched

from autograder.authoring.release import instructor_notebook
from autograder.student import check
from solutions.lab05_normalization_effects.checks import LAB

NAME = "lab05_normalization_effects"
SOLUTIONS = [
    "solve-predictions",
    "solve-units",
    "solve-gradients",
    "solve-statistics",
    "solve-training",
    "solve-drift",
    "solve-gap",
    "solve-reestimate",
    "solve-change",
    "solve-compare",
]
KINDS = ("no norm", "batch norm", "layer norm")
NUMBER = r"(-?\d+\.\d+)"


def rows(source: str) -> dict[str, list[float]]:
    """The numbers behind the name of each kind of network, without their bars."""
    found = (re.search(rf"^{kind} .*$", source, re.MULTILINE) for kind in KINDS)
    return {
        kind: [float(n) for n in re.findall(rf"{NUMBER} \+-", line.group())]
        for kind, line in zip(KINDS, found, strict=True)
        if line is not None
    }


def test_the_solution_passes_its_checks_in_this_process() -> None:
    """The same checks without a kernel, so that a failure has a traceback."""
    names: dict[str, object] = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    exec("import copy", names)
    notebook = nbformat.reads(instructor_notebook(ROOT, NAME), 4)
    for name in SOLUTIONS:
        exec(cell(notebook, name).source, names)
    for promise in LAB.checks:
        check(promise.name, namespace=names)


def test_the_number_of_the_first_version_was_fixed_beforehand() -> None:
    """What the box says: behind a fresh layer norm, 1.0003 for any data and any weights below."""
    for seed, scale, offset in ((0, 1, 0), (1, 1000, 50), (2, 20, -3)):
        draws = torch.Generator().manual_seed(seed)
        h = scale * torch.randn(32, 50, generator=draws) + offset
        assert torch.nn.LayerNorm(50)(h).std().item() == pytest.approx((1600 / 1599) ** 0.5, abs=5e-5)


def test_the_task_does_not_claim_what_is_contested() -> None:
    """The mechanism is a question, with evidence for and against, and the written answer asks for an honest report."""
    said = " ".join(text(released(NAME)).split())
    assert "Is it true?" in said
    assert "No account of why it works is agreed upon" in said
    assert "is not reproduced is not refuted" in said


@pytest.mark.slow
@pytest.mark.parametrize("name", ["experiment-gradients", "experiment-modes", "experiment-figure"])
def test_a_cell_of_the_experiment_says_what_has_to_run_first(name: str) -> None:
    """Where nothing is written yet it would otherwise end in a NameError."""
    found = error(cell(untouched(NAME), name))
    assert found is not None
    assert found[0] == "RuntimeError"
    assert "must run to" in found[1]


@pytest.mark.slow
def test_the_first_version_is_taken_apart() -> None:
    """The same number before training for all data, while the student's drift says that the layers move."""
    said = printed(cell(solved(NAME), "first-version"))
    assert said.count("[1.0003, 1.0003]") == 2
    assert "LayerNorm" in said
    (drifts,) = re.findall(r"^ +\[([\d., ]+)\]$", said, re.MULTILINE)
    moved = [float(n) for n in drifts.split(",")]
    assert len(moved) == 3
    assert max(moved) > 0.3
    assert "You predicted a shift of 1.5; your drift says 1.5" in printed(cell(solved(NAME), "compare-shift"))
    assert "you predicted 3.0, your function says 3.0000" in printed(cell(solved(NAME), "compare-predictions"))


@pytest.mark.slow
def test_the_drift_is_what_the_text_says() -> None:
    """Tolerant on purpose: far smaller in front of batch norm in every layer, and in front of layer norm as without norm."""
    drift = rows(printed(cell(solved(NAME), "experiment-networks")))
    assert [len(drift[kind]) for kind in KINDS] == [5, 5, 5]
    for none, batch, layer in zip(*(drift[kind] for kind in KINDS), strict=True):
        assert batch < none / 4
        assert none / 2 < layer < 2 * none


@pytest.mark.slow
def test_the_gradient_measure_is_lower_with_batch_norm_here_and_nobody_learns_better() -> None:
    """So Santurkar's result is not reproduced; and equal errors speak against the drift as the reason."""
    said = printed(cell(solved(NAME), "experiment-gradients"))
    change = rows(said)
    assert [change[kind][0] for kind in KINDS] == [0, 0, 0]
    for none, batch, layer in list(zip(*(change[kind] for kind in KINDS), strict=True))[2:]:
        assert batch < 0.7 * none
        assert layer > 1.5 * batch
    errors = [float(n) for n in re.findall(rf"norm {NUMBER} \+-", said.splitlines()[-1])]
    assert len(errors) == 3
    assert max(errors) - min(errors) < 4
    assert max(errors) < 12


@pytest.mark.slow
def test_the_gap_is_wide_at_momentum_001_and_re_estimation_closes_it() -> None:
    """The two models of one network, after 100 updates."""
    said = printed(cell(solved(NAME), "experiment-modes"))
    table = {
        (float(momentum), int(updates)): [float(n) for n in re.findall(rf"{NUMBER} \+-", rest)]
        for momentum, updates, rest in re.findall(r"^ +(0\.0?1) +(\d+) (.*)$", said, re.MULTILINE)
    }
    assert len(table) == 10
    batch, running, precise, changed = table[0.01, 100]
    assert running > 1.4 * batch
    assert abs(precise - batch) < 0.05
    assert changed > table[0.1, 100][3]
    assert table[0.1, 5][1] > 1.1 * table[0.1, 5][0]
    assert abs(table[0.1, 100][1] - table[0.1, 100][0]) < 0.05
