"""What is special to lab 3: its page and predictions, what the page left out, the numbers of its experiment.

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
from solutions.lab03_group_norm.checks import LAB

NAME = "lab03_group_norm"
SOLUTIONS = [
    "solve-predictions",
    "solve-shape",
    "solve-to-groups",
    "solve-statistics",
    "solve-normalize",
    "solve-from-groups",
    "solve-scale",
    "solve-group-norm",
    "solve-instance-norm",
    "solve-backward-steps",
    "solve-backward",
]


def said(name: str) -> str:
    """What a cell of the solved notebook printed."""
    return printed(cell(solved(NAME), name))


@pytest.mark.slow
def test_an_untouched_notebook_stops_only_where_something_is_to_be_written() -> None:
    """Of the solution cells only the predictions fail at once; the page and what it left out run all the same."""
    failed = {c.id: found for c in untouched(NAME).cells if c.cell_type == "code" and (found := error(c))}
    assert set(failed) & set(SOLUTIONS) == {"solve-predictions"}
    assert not {"page", "left-out"} & set(failed)
    kind, sentence, _ = failed["experiment-figure"]
    assert (kind, sentence[:32]) == ("RuntimeError", "There is no trained network yet:")


@pytest.mark.slow
def test_the_page_was_right_line_for_line() -> None:
    """The text says so openly; the cell shows it."""
    assert len(re.findall(r"^as expected ", said("page"), flags=re.MULTILINE)) == 12
    assert "12 of 12 lines agree" in said("page")
    assert "OTHERWISE" not in said("page")


@pytest.mark.slow
def test_the_predictions_agree_with_what_happens() -> None:
    """The tables that show a student's guess beside the answer: both columns are the same here."""
    rows = re.findall(r"predicted +([\d.]+) +computed +([\d.]+)$", said("page"), flags=re.MULTILINE)
    rows += re.findall(r"(-?[\d.]+) +(-?[\d.]+)$", said("compare-few-values"), flags=re.MULTILINE)
    assert len(rows) == 7
    assert all(abs(float(guess) - float(answer)) < 1e-3 for guess, answer in rows)


@pytest.mark.slow
def test_what_the_page_left_out_is_so() -> None:
    """Every number that the box speaks of."""
    found = said("left-out")

    def number(pattern: str) -> float:
        match = re.search(pattern, found)
        assert match, (pattern, found)
        return float(match.group(1))

    assert number(r"LN \(token\): largest difference ([\d.]+)") > 0.5
    assert re.search(r"LN \(L, C\)  1024  64  GN \(1 group\)", found)
    assert number(r"against InstanceNorm1d: ([\d.e-]+)") < 1e-5
    assert re.search(r"\(N, L, C\) into GN: +RuntimeError", found)
    assert re.search(r"with L = C: +shape \(8, 32, 32\), no error", found)
    assert number(r"off by +([\d.]+)\n5") > 0.1
    assert number(r"largest \|y\| ([\d.e+-]+)") < 1e-3
    assert number(r"for (\d+) % of the outputs") > 90
    assert re.search(r"InstanceNorm1d\(32\): shape \(8, 32\), no error; warning", found)
    assert re.search(r"GroupNorm\(5, 32\): ValueError", found)
    assert number(r"5 x \+ 3: training against evaluation ([\d.]+)") > 5
    for off_mean, off_var, off in re.findall(r"\|mean\| ([\d.]+), \|var - 1\| ([\d.]+), off by ([\d.]+)", found):
        assert max(float(off_mean), float(off_var)) < 1e-3 < float(off)


@pytest.mark.slow
def test_the_experiment_shows_what_the_text_around_it_says() -> None:
    """Tolerant on purpose: at batches of 2 batch norm fails among linear layers, and not among convolutions."""
    linear, convolutional = said("experiment-networks").split("convolutional, m = 16 N")
    row = re.compile(r"^   (\S.*?) +([\d.]+) \+- +[\d.]+ +([\d.]+) \+- +[\d.]+ +([\d.]+) \+- +[\d.]+$", re.MULTILINE)
    tables = [
        {name: [float(n) for n in numbers] for name, *numbers in row.findall(part)} for part in (linear, convolutional)
    ]
    assert [len(table) for table in tables] == [4, 4]
    one, other = tables
    assert one["batch norm"][0] > one["no normalization"][0] + 8
    assert one["batch norm"][0] > one["group norm, 1 group"][0] + 12
    assert one["batch norm"][2] < one["no normalization"][2] + 3
    assert other["batch norm"][0] < other["no normalization"][0] + 5
    assert other["batch norm"][0] < other["group norm, 4 groups"][0] + 8
    assert max(numbers[2] for table in tables for numbers in table.values()) < 15


def test_the_solution_passes_its_checks_in_this_process() -> None:
    """The same checks without a kernel, so that a failure has a traceback."""
    names: dict[str, object] = {"torch": torch, "nn": torch.nn}
    notebook = nbformat.reads(instructor_notebook(ROOT, NAME), 4)
    for name in SOLUTIONS:
        exec(cell(notebook, name).source, names)
    for own in LAB.checks:
        check(own.name, namespace=names)
