"""The same function at five scales of its weights: how differently does it train, and what undoes the difference?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from _digits import batches, digits, error_percent, perceptron, step
from _text import mean, spread, table
from torch import nn

QUESTION = "If the weights before batch norm are multiplied by a number, what changes at the start, and what later?"
EXPECTED = (
    "nothing at the start; later SGD should be too fast where the weights are small and too slow where they are "
    "large, and a rate multiplied by the square of the scale should remove the difference altogether"
)
SETTINGS: dict[str, Any] = {
    "scales": [0.1, 0.3, 1.0, 3.0, 10.0],
    "eps": 1e-10,  # out of the way, so that the invariance is exact
    "epochs": 6,
    "batch": 64,
    "rate": 0.1,
    "adam_rate": 1e-3,
    "every": 7,
}
SEEDS = range(5)
SMALL = {**SETTINGS, "epochs": 1}
KINDS = ("SGD", "SGD, rate times scale²", "Adam")


def train(kind: str, scale: float, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return loss and gradient at the start, the losses of training, and the test error at the end."""
    x, y, x_test, y_test = digits()
    torch.manual_seed(seed)
    net = perceptron(lambda width: nn.BatchNorm1d(width, eps=settings["eps"]))
    hidden = [module.weight for module in net[:-1] if isinstance(module, nn.Linear)]
    with torch.no_grad():
        for weight in hidden:
            weight.mul_(scale)
    others = [p for p in net.parameters() if all(p is not weight for weight in hidden)]
    if kind == "Adam":
        optimizer: torch.optim.Optimizer = torch.optim.Adam(net.parameters(), settings["adam_rate"])
    else:
        rate = settings["rate"] * (scale**2 if "scale" in kind else 1)
        optimizer = torch.optim.SGD([{"params": hidden, "lr": rate}, {"params": others, "lr": settings["rate"]}])
    start = F.cross_entropy(net(x[:512]), y[:512])
    slope = torch.autograd.grad(start, hidden[1])[0].norm().item()
    losses = [
        step(net, optimizer, x[batch], y[batch]) for batch in batches(len(x), settings["batch"], settings["epochs"])
    ]
    curve = torch.tensor(losses).unflatten(0, (-1, settings["every"])).mean(1)
    return {
        "start": round(start.item(), 4),
        "gradient times scale": round(slope * scale, 4),
        "curve": [round(value, 4) for value in curve.tolist()],
        "error": round(error_percent(net.eval(), x_test, y_test), 3),
    }


def run(settings: dict[str, Any], seeds: Sequence[int]) -> dict[str, Any]:
    """Return what `train` gives for each kind, scale and seed."""
    return {
        kind: {f"{scale:g}": [train(kind, scale, settings, seed) for seed in seeds] for scale in settings["scales"]}
        for kind in KINDS
    }


def each(values: Any, kind: str, scale: str, what: str) -> list[float]:
    """Return one quantity for each seed."""
    return [one[what] for one in values[kind][scale]]


def numbers(values: Any) -> dict[str, str]:
    """Return the loss at the start, the errors at the ends of the sweep, and how far the scales differ."""
    scales = list(values["SGD"])
    starts = [max(each) - min(each) for each in zip(*(each_start(values, s) for s in scales), strict=True)]
    slopes = [
        max(each) / min(each) - 1
        for each in zip(*(each(values, "SGD", s, "gradient times scale") for s in scales), strict=True)
    ]
    return {
        "start": mean(each_start(values, "1"), 3),
        "start_apart": f"{max(starts):.4f}",
        "gradient_apart": f"{100 * max(slopes):.2f}",
        "small": mean(each(values, "SGD", "0.1", "error")),
        "one": mean(each(values, "SGD", "1", "error")),
        "large": mean(each(values, "SGD", "10", "error")),
        "large_rescued": mean(each(values, KINDS[1], "10", "error")),
        "small_rescued": mean(each(values, KINDS[1], "0.1", "error")),
        "adam_small": mean(each(values, "Adam", "0.1", "error")),
        "adam_one": mean(each(values, "Adam", "1", "error")),
        "adam_large": mean(each(values, "Adam", "10", "error")),
    }


def each_start(values: Any, scale: str) -> list[float]:
    """Return the loss at the start for each seed."""
    return each(values, "SGD", scale, "start")


def tables(values: Any) -> dict[str, str]:
    """Return the loss at the start and the test errors, one row a scale."""
    rows = [
        [f"× {s}", mean(each_start(values, s), 3), *(spread(each(values, k, s, "error")) for k in KINDS)]
        for s in values["SGD"]
    ]
    return {"errors": table(["weights", "loss at step 0", "SGD", "SGD, rate × scale²", "Adam"], rows)}
