"""What is special to lab 4: its predictions, the box on its first version, the numbers of its two experiments.

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
from solutions.lab04_stability.checks import LAB
from solutions.lab04_stability.measure import printed_stability

NAME = "lab04_stability"
SOLUTIONS = [
    "solve-predictions",
    "solve-printed",
    "solve-outputs",
    "solve-spread",
    "solve-gradients",
    "solve-leak",
    "solve-table",
    "solve-train",
    "solve-error",
    "solve-seeds",
]
NORMS = ("batch norm", "layer norm", "group norm")


def test_the_solution_passes_its_checks_in_this_process() -> None:
    """The same checks without a kernel, so that a failure has a traceback."""
    names: dict[str, object] = {"torch": torch, "nn": torch.nn}
    exec("import copy, math", names)
    notebook = nbformat.reads(instructor_notebook(ROOT, NAME), 4)
    for name in SOLUTIONS:
        exec(cell(notebook, name).source, names)
    for promise in LAB.checks:
        check(promise.name, namespace=names)


def test_the_number_of_the_first_version_is_bessels_correction() -> None:
    """What the box says of torch.nn and Tensor.std, measured here: for three kinds of data, and not for layer norm."""
    for m, said in ((4, 1.155), (32, 1.016), (128, 1.004)):
        x = torch.randn(m, 100, generator=torch.Generator().manual_seed(m), dtype=torch.float64)
        for data in (x, 1000 * x + 50, torch.arange(100 * m).view(m, 100).double().sin()):
            number = torch.nn.BatchNorm1d(100, eps=1e-12).double()(data).std(dim=0).mean().item()
            assert number == pytest.approx(printed_stability(m), abs=1e-6)
        assert printed_stability(m) == pytest.approx(said, abs=6e-4)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        torch.nn.BatchNorm1d(100)(torch.randn(1, 100))


@pytest.mark.slow
def test_a_figure_without_networks_says_what_to_run() -> None:
    """The one cell that would otherwise end in a NameError."""
    found = error(cell(untouched(NAME), "experiment-figure"))
    assert found is not None
    assert found[:2] == (
        "RuntimeError",
        "There is no trained network yet: the cell above must run to its end first.",
    )


@pytest.mark.slow
def test_the_predictions_agree_with_the_functions() -> None:
    """The table that shows a student's guess beside the computed answer: both columns are the same here."""
    rows = re.findall(r"(-?[\d.]+) +(-?[\d.]+)$", printed(cell(solved(NAME), "compare-predictions")), flags=re.M)
    assert len(rows) == 4
    assert all(abs(float(guess) - float(answer)) < 1e-3 for guess, answer in rows)


@pytest.mark.slow
def test_the_first_version_prints_the_same_for_all_data() -> None:
    """Three kinds of data and the function: four equal numbers a row."""
    rows = re.findall(r"^ +\d+((?: +\d\.\d{4}){4})$", printed(cell(solved(NAME), "first-version")), flags=re.M)
    assert len(rows) == 3
    for row in rows:
        numbers = [float(n) for n in row.split()]
        assert max(numbers) - min(numbers) < 2e-4


@pytest.mark.slow
def test_the_table_shows_what_the_text_around_it_says() -> None:
    """Batch norm refuses one, falls about as 1 / sqrt(m); the others stay at rounding."""
    said = printed(cell(solved(NAME), "experiment-spread"))
    outputs, gradients = said.split("Spread of the gradients")
    for part in (outputs, gradients):
        rows = {
            n: re.findall(r"(nan|[\d.]+e[+-]\d+) \+-", line) for n in NORMS for line in part.splitlines() if n in line
        }
        assert [len(rows[n]) for n in NORMS] == [6, 6, 6]
        assert rows["batch norm"][0] == "nan"
        assert all(float(entry) < 1e-5 for n in NORMS[1:] for entry in rows[n])
        falling = [float(entry) for entry in rows["batch norm"][1:]]
        assert falling == sorted(falling, reverse=True)
    two, four, _, many, _ = (float(e) for e in re.findall(r"(nan|[\d.]+e[+-]\d+) \+-", outputs)[1:6])
    assert 0.6 < two <= 1.01
    assert 2.2 < four / many < 3.5


@pytest.mark.slow
def test_the_sweep_shows_what_the_text_around_it_says() -> None:
    """Tolerant on purpose: a collapse of batch norm at 2 that the controls do not share, none from 8 up."""
    said = printed(cell(solved(NAME), "experiment-sweep"))
    table = {
        (name, mode): [float(n) for n in re.findall(r"([\d.]+) \+-", line)]
        for name in NORMS
        for mode in ("evaluation mode", "batch stat.")
        for line in said.splitlines()
        if line.startswith(f"{name}, {mode}")
    }
    assert len(table) == 6
    batch, other = table["batch norm", "evaluation mode"], table["batch norm", "batch stat."]
    for control in NORMS[1:]:
        assert batch[0] - table[control, "evaluation mode"][0] > 15
        assert abs(batch[2] - table[control, "evaluation mode"][2]) < 5
        assert table[control, "evaluation mode"] == pytest.approx(table[control, "batch stat."], abs=0.6)
    assert other[0] - batch[0] > 10
    assert other[1] - batch[1] > 8
    assert max(batch[3], other[3]) < 8
