"""What is special to lab 1: its predictions, the box on its first version, the numbers of its experiment.

What every lab promises is tested in test_notebooks.py.
"""

from __future__ import annotations

import re

import nbformat
import pytest
import torch
from lab_runs import ROOT, cell, error, printed, solved, untouched

from autograder.authoring.release import instructor_notebook
from autograder.student import check
from solutions.lab01_batch_norm.checks import LAB

NAME = "lab01_batch_norm"
SOLUTIONS = [
    "solve-predictions",
    "solve-statistics",
    "solve-normalize",
    "solve-running",
    "solve-bn1d",
    "solve-bn2d",
    "solve-backward-steps",
    "solve-backward",
]


def said(name: str) -> str:
    """What a cell of the solved notebook printed."""
    return printed(cell(solved(NAME), name))


@pytest.mark.slow
def test_an_untouched_notebook_stops_only_where_something_is_to_be_written() -> None:
    """Of the solution cells only the predictions fail at once; the figure says what has to run first."""
    failed = {c.id: found for c in untouched(NAME).cells if c.cell_type == "code" and (found := error(c))}
    assert set(failed) & set(SOLUTIONS) == {"solve-predictions"}
    kind, sentence, _ = failed["experiment-figure"]
    assert (kind, sentence[:32]) == ("RuntimeError", "There is no trained network yet:")


@pytest.mark.slow
def test_the_predictions_agree_with_the_layer() -> None:
    """The table that shows a student's guess beside the layer's answer: both columns are the same here."""
    rows = re.findall(r"(-?[\d.]+) +(-?[\d.]+)$", said("compare-predictions"), flags=re.MULTILINE)
    assert len(rows) == 3
    assert all(abs(float(guess) - float(answer)) < 1e-3 for guess, answer in rows)


@pytest.mark.slow
def test_the_first_version_s_test_passes_for_layers_that_do_nothing() -> None:
    """The claim of the box: nine times in ten for the identity, always for two other wrong layers."""
    shares = [float(n) for n in re.findall(r"([\d.]+) %$", said("first-version"), flags=re.MULTILINE)[:3]]
    assert 85 < shares[0] < 97
    assert shares[1:] == [100, 100]


@pytest.mark.slow
def test_the_experiment_shows_what_the_text_around_it_says() -> None:
    """Tolerant on purpose: a wide gap between the modes at batch size 2, a small one at 64, one image that moves."""
    table = {
        int(row[0]): [float(n) for n in row[1::2]]
        for row in re.findall(
            r"^ +(\d+) +([\d.]+) \+- +([\d.]+) +([\d.]+) \+- +([\d.]+) +([\d.]+)", said("experiment-networks"), re.M
        )
    }
    batch, evaluation, control = (dict(zip(table, column, strict=True)) for column in zip(*table.values(), strict=True))
    assert batch[2] - evaluation[2] > 8
    assert batch[4] - control[4] > 5
    assert abs(batch[64] - evaluation[64]) < 3
    assert max(evaluation[64], control[64]) < 8
    moves = re.findall(r"in batches of +(\d+): from ([\d.]+) to ([\d.]+)", said("experiment-figure"))
    width = {int(size): float(high) - float(low) for size, low, high in moves}
    assert width[2] > 0.5
    assert width[64] < width[4]


def test_the_solution_passes_its_checks_in_this_process() -> None:
    """The same checks without a kernel, so that a failure has a traceback."""
    names: dict[str, object] = {"torch": torch, "nn": torch.nn}
    notebook = nbformat.reads(instructor_notebook(ROOT, NAME), 4)
    for name in SOLUTIONS:
        exec(cell(notebook, name).source, names)
    for own in LAB.checks:
        check(own.name, namespace=names)
