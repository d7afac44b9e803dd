"""What is special to lab 2: its predictions, the box on its first version, the comparison, the numbers of its experiment.

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
from solutions.lab02_layer_norm.checks import LAB

NAME = "lab02_layer_norm"
SOLUTIONS = [
    "solve-predictions",
    "solve-statistics",
    "solve-shape",
    "solve-normalize",
    "solve-layer-norm",
    "solve-steps",
    "solve-backward",
    "solve-rms-norm",
    "solve-rms-backward",
]
ROW = re.compile(
    r"^ +(\d+)  (\S.*?) +(\d+\.\d+) \+- +([\d.]+) +(\d+\.\d+) \+- +([\d.]+) +(-?\d+\.\d+) \+- +([\d.]+)$", re.M
)


def said(name: str) -> str:
    """What a cell of the solved notebook printed."""
    return printed(cell(solved(NAME), name))


@pytest.mark.slow
def test_an_untouched_notebook_stops_only_where_something_is_to_be_written() -> None:
    """Of the solution cells only the predictions fail at once; the figure says what has to run first."""
    failed = {c.id: found for c in untouched(NAME).cells if c.cell_type == "code" and (found := error(c))}
    assert set(failed) & set(SOLUTIONS) == {"solve-predictions"}
    kind, sentence, _ = failed["experiment-figure"]
    assert (kind, sentence[:22]) == ("RuntimeError", "There is no table yet:")


@pytest.mark.slow
def test_the_predictions_agree_with_the_layers() -> None:
    """The tables that show a student's guess beside the layer's answer: both columns are the same here."""
    rows = re.findall(r"(-?[\d.]+) +(-?[\d.]+)$", said("compare-predictions"), flags=re.MULTILINE)
    rows += re.findall(r"predicted ([\d.]+), computed ([\d.]+)", said("compare-rms"))
    assert len(rows) == 7
    assert all(abs(float(guess) - float(answer)) < 1e-3 for guess, answer in rows)


@pytest.mark.slow
def test_the_first_version_s_test_passes_for_half_a_layer() -> None:
    """The claim of the box: it passes every time for three wrong layers."""
    assert re.findall(r"([\d.]+) %$", said("first-version"), flags=re.MULTILINE) == ["100.0"] * 3


@pytest.mark.slow
def test_the_comparison_could_have_come_out_otherwise() -> None:
    """Batch norm in evaluation mode with fresh statistics passes on a normal input and fails on another; the rest passes."""
    normal, other = re.split(r"^x has mean", said("proper-comparison"), flags=re.MULTILINE)
    found = [
        {
            label.strip(): (float(mean), float(var))
            for label, mean, var in re.findall(r"^   (.*?) +([\d.]+) +([\d.]+)$", block, re.M)
        }
        for block in (normal, other)
    ]
    fresh = "batch norm, eval,   0 steps before"
    assert max(found[0][fresh]) < 0.1
    assert min(found[1][fresh]) > 2
    assert min(found[1]["batch norm, eval,   1 steps before"]) > 1
    for block in found:
        for label in ("batch norm, training mode", "the same, a single sample", "your layer norm"):
            assert max(block[label]) < 1e-3


@pytest.mark.slow
def test_the_experiment_shows_what_the_text_around_it_says() -> None:
    """Tolerant on purpose: only LayerNorm((7, 8)) reacts to the future; it leads with it and leads by less without."""
    table = {(int(row[0]), row[1]): [float(n) for n in row[2:]] for row in ROW.findall(said("experiment-models"))}
    assert len(table) == 12
    leaky = "LayerNorm((7, 8))"
    assert all(row[4] == row[5] == 0 for (_, kind), row in table.items() if kind != leaky)
    assert table[32, leaky][4] > 2 * table[32, leaky][5] > 0
    lead = {column: table[32, "none"][column] - table[32, leaky][column] for column in (0, 2)}
    assert lead[0] > 1.2
    assert lead[2] < 0.75 * lead[0]
    assert table[2, "batch norm"][0] > table[2, "none"][0] + 5


def test_the_solution_passes_its_checks_in_this_process() -> None:
    """The same checks without a kernel, so that a failure has a traceback."""
    names: dict[str, object] = {"torch": torch, "nn": torch.nn}
    notebook = nbformat.reads(instructor_notebook(ROOT, NAME), 4)
    for name in SOLUTIONS:
        exec(cell(notebook, name).source, names)
    for own in LAB.checks:
        check(own.name, namespace=names)
