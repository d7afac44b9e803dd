"""What is special to lab 6: its predictions, its two equalities, the box, the numbers of its experiment.

What every lab promises is tested in test_notebooks.py.
"""

from __future__ import annotations

import re

import nbformat
import pytest
import torch
from lab_runs import ROOT, cell, printed, solved

from autograder.authoring.release import instructor_notebook
from autograder.student import check
from solutions.lab06_beyond.checks import LAB

NAME = "lab06_beyond"


def said(ident: str) -> str:
    """What a cell of the solved notebook printed."""
    return printed(cell(solved(NAME), ident))


@pytest.mark.slow
def test_the_predictions_agree_with_the_layers() -> None:
    """The tables that show a student's guess beside the layer's answer: both columns are the same here."""
    rows = re.findall(
        r"(-?[\d.]+) +(-?[\d.]+)$", said("compare-predictions") + "\n" + said("compare-norm"), flags=re.MULTILINE
    )
    assert len(rows) == 4
    assert all(abs(float(guess) - float(answer)) < 1e-3 for guess, answer in rows)


@pytest.mark.slow
def test_the_limits_lead_from_batch_norm_to_evaluation() -> None:
    """At share 0 the output is batch norm's, at share 1 evaluation's, and in between it moves one way."""
    rows = [
        [float(n) for n in row]
        for row in re.findall(r"^ +([\d.]+) +(\S+e\S+) +(\S+e\S+)$", said("see-the-equalities"), flags=re.MULTILINE)
    ]
    assert [row[0] for row in rows] == [0, 0.25, 0.5, 0.75, 1]
    assert rows[0][1] == 0
    assert rows[-1][2] < 1e-12
    assert [row[2] for row in rows] == sorted((row[2] for row in rows), reverse=True)


@pytest.mark.slow
def test_the_box_shows_what_it_claims() -> None:
    """Momentum moves no training output of batch norm; wider limits make a sample depend less on its companions."""
    text = said("first-version")
    assert re.search(r"training output moves by 0\.0$", text, flags=re.MULTILINE)
    rows = [[float(n) for n in row] for row in re.findall(r"^ +(\d+) +([\d.]+) +([\d.]+) +([\d.]+)$", text, re.M)]
    assert [row[0] for row in rows] == [2, 4, 8, 32]
    assert all(row[1] > row[2] >= row[3] for row in rows)
    assert rows[0][3] < rows[0][1] / 3


@pytest.mark.slow
def test_weight_norm_stays_only_where_the_text_says() -> None:
    """It follows the scale and the mean of the data, and not the length of v."""
    words = re.findall(r"(stays|moves) +(stays|moves)$", said("what-stays"), flags=re.MULTILINE)
    assert words == [("moves", "stays"), ("moves", "stays"), ("stays", "stays")]


@pytest.mark.slow
def test_the_experiment_shows_what_the_text_around_it_says() -> None:
    """Tolerant on purpose: the correction pays at 2 and at 4, not at 32, and brings the two modes together."""
    found = re.findall(
        r"^ +(\d+)  (batch norm|batch renorm|no normalization) +([\d.]+) \+- +[\d.]+ +([\d.]+) \+-",
        said("experiment-networks"),
        flags=re.MULTILINE,
    )
    training = {(int(size), kind): float(batch) for size, kind, batch, _ in found}
    evaluation = {(int(size), kind): float(error) for size, kind, _, error in found}
    assert len(found) == 12
    assert evaluation[2, "batch norm"] - evaluation[2, "batch renorm"] > 8
    assert evaluation[4, "batch norm"] - evaluation[4, "batch renorm"] > 1.5
    assert abs(evaluation[32, "batch norm"] - evaluation[32, "batch renorm"]) < 2
    assert training[2, "batch norm"] - evaluation[2, "batch norm"] > 8
    assert abs(training[4, "batch renorm"] - evaluation[4, "batch renorm"]) < 4


def test_the_solution_passes_its_checks_in_this_process() -> None:
    """The same checks without a kernel, so that a failure has a traceback."""
    names: dict[str, object] = {"torch": torch, "nn": torch.nn}
    notebook = nbformat.reads(instructor_notebook(ROOT, NAME), 4)
    for own in notebook.cells:
        if own.cell_type == "code" and own.id.startswith("solve-"):
            exec(own.source, names)
    for promise in LAB.checks:
        check(promise.name, namespace=names)
