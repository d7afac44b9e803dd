"""Averages the weights of a network along its training and evaluates the average before and after new statistics."""

from __future__ import annotations

from typing import Any

import torch
from _digits import NORMS, batches, digits, error_percent, perceptron, step
from _text import spread, table
from torch.optim.swa_utils import AveragedModel, update_bn

QUESTION = "Which statistics belong to averaged weights?"
EXPECTED = (
    "none that were collected on the way: with the last model's running statistics the averaged weights should do "
    "worse than the last model, with re-estimated ones better; with layer norm there is nothing to re-estimate."
)
SETTINGS = {"depth": 5, "width": 64, "batch": 64, "rate": 0.3, "epochs": 8, "average_from": 4}
SEEDS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
SMALL = {"depth": 2, "width": 16, "batch": 64, "rate": 0.3, "epochs": 2, "average_from": 1}
KINDS = ("batch norm", "layer norm")
COLUMNS = ("last model", "average, last model's statistics", "average, re-estimated")


def errors(kind: str, seed: int, settings: dict[str, Any]) -> list[float]:
    """Train with a constant rate, averaging after each step from some epoch on; return three test errors in per cent."""
    x, y, x_test, y_test = digits()
    torch.manual_seed(seed)
    net = perceptron(NORMS[kind], settings["depth"], settings["width"])
    optimizer = torch.optim.SGD(net.parameters(), lr=settings["rate"], momentum=0.9)
    average = AveragedModel(net)
    start = settings["average_from"] * (len(x) // settings["batch"])
    for k, pick in enumerate(batches(len(x), settings["batch"], settings["epochs"])):
        step(net, optimizer, x[pick], y[pick])
        if k >= start:
            average.update_parameters(net)
    found = [error_percent(net.eval(), x_test, y_test), error_percent(average.eval(), x_test, y_test)]
    update_bn([x[pick] for pick in batches(len(x), settings["batch"], 1)], average)
    return [*found, error_percent(average.eval(), x_test, y_test)]


def run(settings: dict[str, Any], seeds: list[int]) -> dict[str, Any]:
    """Return the three errors of each seed, by norm."""
    return {kind: [errors(kind, seed, settings) for seed in seeds] for kind in KINDS}


def numbers(values: dict[str, Any]) -> dict[str, str]:
    """Return each error."""
    return {
        f"{kind[:5]}_{column}": spread([seed[k] for seed in values[kind]], 2)
        for kind in KINDS
        for k, column in enumerate(("last", "before", "after"))
    }


def tables(values: dict[str, Any]) -> dict[str, str]:
    """Return the errors."""
    rows = [[kind, *(spread([seed[k] for seed in values[kind]], 2) for k in range(3))] for kind in KINDS]
    return {"errors": table(["test error in %", *COLUMNS], rows)}
