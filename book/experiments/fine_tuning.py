"""Trains on the digits 0 to 4, then on 5 to 9 with small batches: batch norm left on, frozen in two ways, and group norm."""

from __future__ import annotations

from typing import Any

import torch
from _digits import NORMS, batches, digits, error_percent, perceptron, step
from _text import spread, table
from torch import Tensor, nn

QUESTION = "What should be done with the batch norms of a trained network that is trained on with two images a step?"
EXPECTED = (
    "with two images a step a batch norm left in training mode does great harm, frozen it does none, and group norm does "
    "not care; with sixteen images a step all are much alike."
)
SETTINGS = {
    "depth": 3,
    "width": 64,
    "before": {"batch": 64, "epochs": 20, "rate": 0.1},
    "batches": [2, 16],
    "updates": 300,
    "rate_per_image": 0.1 / 32,
}
SEEDS = [0, 1, 2, 3, 4, 5, 6, 7]
SMALL = {**SETTINGS, "before": {"batch": 64, "epochs": 2, "rate": 0.1}, "updates": 10}

KINDS = ("left on", "statistics frozen", "all frozen", "group norm")


def set_mode(net: nn.Sequential, kind: str) -> None:
    """Put the net into training mode, except what is frozen."""
    net.train()
    for m in net:
        if isinstance(m, nn.BatchNorm1d):
            m.train(kind == "left on")
            for p in m.parameters():
                p.requires_grad_(kind != "all frozen")


def error_after(kind: str, batch: int, seed: int, settings: dict[str, Any], data: tuple[Tensor, ...]) -> float:
    """Train on the first five digits, go on with the others, and return the test error on those in per cent."""
    x, y, x_test, y_test = data
    torch.manual_seed(seed)
    net = perceptron(
        NORMS["group norm" if kind == "group norm" else "batch norm"], settings["depth"], settings["width"]
    )
    first, before = y < 5, settings["before"]
    x_first, y_first = x[first], y[first]
    optimizer = torch.optim.SGD(net.parameters(), lr=before["rate"], momentum=0.9)
    for pick in batches(len(x_first), before["batch"], before["epochs"]):
        step(net, optimizer, x_first[pick], y_first[pick])
    net[-1].reset_parameters()  # a new read-out for the new digits
    set_mode(net, kind)
    x_new, y_new = x[~first], y[~first]
    rate = settings["rate_per_image"] * batch
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=rate, momentum=0.9)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings["updates"])
    for _ in range(settings["updates"]):
        pick = torch.randint(len(x_new), (batch,))
        step(net, optimizer, x_new[pick], y_new[pick])
        slower.step()
    net.eval()
    return error_percent(net, x_test[y_test >= 5], y_test[y_test >= 5])


def run(settings: dict[str, Any], seeds: list[int]) -> dict[str, Any]:
    """Return the test error of each seed, by kind and batch size."""
    data = digits()
    return {
        kind: {
            str(batch): [error_after(kind, batch, seed, settings, data) for seed in seeds]
            for batch in settings["batches"]
        }
        for kind in KINDS
    }


def numbers(values: dict[str, Any]) -> dict[str, str]:
    """Return the errors of each kind at the smallest batch size."""
    keys = ("on", "statistics", "frozen", "group")
    return {key: spread(values[kind]["2"]) for key, kind in zip(keys, KINDS, strict=True)}


def tables(values: dict[str, Any]) -> dict[str, str]:
    """Return the table of test errors: treatment against batch size."""
    sizes = sorted(values["left on"], key=int)
    rows = [[kind, *(spread(values[kind][size]) for size in sizes)] for kind in KINDS]
    return {"errors": table(["the norms", *(f"{size} images a step" for size in sizes)], rows)}
