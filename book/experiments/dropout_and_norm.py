"""Trains with dropout in front of norms, or only behind the last one, and evaluates with stored and fresh statistics."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.nn.functional as F
from _digits import NORMS, batches, digits, error_percent, perceptron, step
from _text import spread, table
from torch import Tensor, nn

QUESTION = "What does dropout in front of batch norm do to the network that is used?"
EXPECTED = (
    "batch norm's stored variances should be too large, because they were collected with dropout on; statistics "
    "collected anew with dropout off should make loss and error smaller, more so for stronger dropout; with dropout "
    "behind the last norm only, they should change nothing."
)
SETTINGS = {"depth": 4, "width": 64, "batch": 64, "rate": 0.1, "epochs": 20, "dropout": [0.3, 0.5, 0.7]}
SEEDS = [0, 1, 2, 3, 4, 5, 6, 7]
SMALL = {"depth": 3, "width": 16, "batch": 64, "rate": 0.1, "epochs": 1, "dropout": [0.3, 0.5, 0.7]}
PLACES = ("in front of norms", "behind the last norm")


def network(place: str, rate: float, settings: dict[str, Any]) -> nn.Sequential:
    """Return the plain network with dropout behind each ReLU that a norm follows, or behind the last ReLU only."""
    plain = perceptron(NORMS["batch norm"], settings["depth"], settings["width"])
    last = max(k for k, layer in enumerate(plain) if isinstance(layer, nn.ReLU))
    layers: list[nn.Module] = []
    for k, layer in enumerate(plain):
        layers.append(layer)
        if isinstance(layer, nn.ReLU) and (k == last) == (place == PLACES[1]):
            layers.append(nn.Dropout(rate))
    return nn.Sequential(*layers)


@torch.no_grad()
def without_dropout(net: nn.Module, x: Tensor, batch: int) -> nn.Module:
    """Return a copy whose statistics were collected with dropout off: the plain average over one pass."""
    net = copy.deepcopy(net).eval()
    for layer in net.modules():
        if isinstance(layer, nn.BatchNorm1d):
            layer.reset_running_stats()
            layer.momentum = None
            layer.train()
    for pick in batches(len(x), batch, 1):
        net(x[pick])
    return net.eval()


def measure(net: nn.Module, x: Tensor, y: Tensor) -> list[float]:
    """Return error in per cent and mean loss, in evaluation mode."""
    with torch.no_grad():
        return [error_percent(net.eval(), x, y), F.cross_entropy(net(x), y).item()]


def one(place: str, rate: float, seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Train once; return error and loss with stored and fresh statistics, and how much the last norm's variance fell."""
    x, y, x_test, y_test = digits()
    torch.manual_seed(seed)
    net = network(place, rate, settings)
    optimizer = torch.optim.SGD(net.parameters(), lr=settings["rate"], momentum=0.9)
    for pick in batches(len(x), settings["batch"], settings["epochs"]):
        step(net, optimizer, x[pick], y[pick])
    fresh = without_dropout(net, x, settings["batch"])
    variances = [[m.running_var for m in n.modules() if isinstance(m, nn.BatchNorm1d)][-1] for n in (fresh, net)]
    return {
        "stored": measure(net, x_test, y_test),
        "fresh": measure(fresh, x_test, y_test),
        "variance": (variances[0] / variances[1]).median().item(),
    }


def run(settings: dict[str, Any], seeds: list[int]) -> dict[str, Any]:
    """Return what each seed gave, by place and by strength of dropout."""
    return {
        place: {str(rate): [one(place, rate, seed, settings) for seed in seeds] for rate in settings["dropout"]}
        for place in PLACES
    }


def numbers(values: dict[str, Any]) -> dict[str, str]:
    """Return errors, losses, what fresh statistics gain seed by seed, and the ratio of variances."""
    found = {}
    for place, key in zip(PLACES, ("front", "behind"), strict=True):
        for rate, seeds in values[place].items():
            short = f"{key}_{rate[2:]}"
            for which in ("stored", "fresh"):
                found[f"{short}_{which}_error"] = spread([s[which][0] for s in seeds])
                found[f"{short}_{which}_loss"] = spread([s[which][1] for s in seeds], 3)
            found[f"{short}_gain"] = spread([s["stored"][1] - s["fresh"][1] for s in seeds], 3)
            found[f"{short}_variance"] = spread([s["variance"] for s in seeds], 2)
    return found


def tables(values: dict[str, Any]) -> dict[str, str]:
    """Return test losses with both kinds of statistics, and the ratio of variances."""
    rows = []
    for place, short in zip(PLACES, ("in front", "behind"), strict=True):
        for rate, seeds in values[place].items():
            losses = [spread([s[which][1] for s in seeds], 3) for which in ("stored", "fresh")]
            rows.append([f"{short}, {rate}", spread([s["variance"] for s in seeds], 2), *losses])
    return {"losses": table(["dropout", "variance, fresh / stored", "loss, stored", "loss, fresh"], rows)}
