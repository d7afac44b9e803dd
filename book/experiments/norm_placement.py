"""Norm before or behind the activation: which one tests better?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from _digits import NORMS, MakeNorm, batches, digits, error_percent, step
from _text import mean, spread, table
from torch import nn

QUESTION = "Does it matter whether the norm stands before or behind the activation?"
EXPECTED = "no clear winner at this size: the difference should be of the order of the spread over seeds"
SETTINGS: dict[str, Any] = {"epochs": 8, "batch": 64, "rates": [0.03, 0.1, 0.3], "depth": 5, "width": 64}
SEEDS = range(5)
SMALL = {**SETTINGS, "epochs": 1, "rates": [0.1]}
PLACES = ("before", "behind")


def network(norm: MakeNorm, place: str, depth: int, width: int) -> nn.Sequential:
    """Return linear, norm and ReLU, the latter two in the order asked for, `depth` times, and a linear read-out."""
    layers: list[nn.Module] = []
    for k in range(depth):
        linear = nn.Linear(64 if k == 0 else width, width)
        nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
        nn.init.zeros_(linear.bias)
        pair = [norm(width), nn.ReLU()]
        layers += [linear, *(pair if place == "before" else pair[::-1])]
    return nn.Sequential(*layers, nn.Linear(width, 10))


def run(settings: dict[str, Any], seeds: Sequence[int]) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Return the test error in evaluation mode: by norm, place and rate, one a seed."""
    x, y, x_test, y_test = digits()
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name in ("batch norm", "layer norm"):
        found[name] = {place: {} for place in PLACES}
        for place in PLACES:
            for rate in settings["rates"]:
                errors = []
                for seed in seeds:
                    torch.manual_seed(seed)
                    net = network(NORMS[name], place, settings["depth"], settings["width"])
                    sgd = torch.optim.SGD(net.parameters(), rate, momentum=0.9)
                    for batch in batches(len(x), settings["batch"], settings["epochs"]):
                        step(net, sgd, x[batch], y[batch])
                    errors.append(round(error_percent(net.eval(), x_test, y_test), 3))
                found[name][place][f"{rate:g}"] = errors
    return found


def numbers(values: Any) -> dict[str, str]:
    """Return the errors at the middle rate, and how many runs ended in numbers that are not finite."""
    lost = list(values["layer norm"]["behind"].values())[-1].count(100.0)
    return {
        "layer_behind_lost": str(lost),
        **{
            f"{norm.split()[0]}_{place}": mean(list(values[norm][place].values())[len(values[norm][place]) // 2])
            for norm in values
            for place in PLACES
        },
    }


def tables(values: Any) -> dict[str, str]:
    """Return all errors, one column a rate."""
    rates = list(values["batch norm"]["before"])
    rows = [
        [f"{norm}, {place}", *(spread(values[norm][place][rate]) for rate in rates)]
        for norm in values
        for place in PLACES
    ]
    return {"errors": table(["norm, place", *(f"rate {rate}" for rate in rates)], rows)}
