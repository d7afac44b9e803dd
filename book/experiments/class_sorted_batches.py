"""Batches that are not a random sample: of two classes only in training, of one class only in testing."""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from _conv_net import refreshed
from _digits import NORMS, MakeNorm, digits, error_percent, perceptron, step
from _text import spread, table
from batch_size_sweep import Renorm
from torch import Tensor, nn

QUESTION = "What happens to each norm when a batch holds examples of few classes?"
EXPECTED = (
    "trained on batches of two classes, batch norm does worse than group norm in evaluation mode, but an earlier look "
    "had error bars that overlapped; batch renorm should lie between; tested with batches of one class in training "
    "mode, batch norm fails, whatever it was trained on."
)
SETTINGS: dict[str, Any] = {
    "updates": 300,
    "batch": 16,
    "test_batch": 30,
    "rate": 0.05,
    "classes": 2,
    "renorm": {"weight of the new": 0.1, "closed for": 60, "opening for": 90, "r": 3.0, "d": 5.0},
}
SEEDS = (0, 1, 2, 3, 4, 5, 6, 7)
SMALL = {**SETTINGS, "updates": 20}
SHORT = {"no norm": "none", "batch norm": "bn", "layer norm": "ln", "group norm": "gn", "batch renorm": "brn"}


def few_classes(y: Tensor, settings: dict[str, Any]) -> Tensor:
    """Return indices of one batch: the same number of examples from each of a few classes drawn at random."""
    each = settings["batch"] // settings["classes"]
    chosen = torch.randperm(10)[: settings["classes"]].tolist()
    members = [(y == label).nonzero()[:, 0] for label in chosen]
    return torch.cat([places[torch.randint(len(places), (each,))] for places in members])


def in_batches(net: nn.Module, x: Tensor, y: Tensor, order: Tensor, batch: int) -> float:
    """Return the error in training mode, test batch by test batch; the network stays as it is."""
    net = copy.deepcopy(net).train()
    parts = order.split(batch)
    return sum(error_percent(net, x[part], y[part]) * len(part) for part in parts) / len(order)


def run_one(kind: str, few: bool, seed: int, settings: dict[str, Any]) -> dict[str, float]:
    """Train once, with a cosine schedule; return errors in evaluation mode and in training mode."""
    x, y, x_test, y_test = digits()
    torch.manual_seed(seed)
    norms: dict[str, MakeNorm] = {**NORMS, "batch renorm": lambda width: Renorm(width, settings["renorm"])}
    net = perceptron(norms[kind], depth=3)
    optimizer = torch.optim.SGD(net.parameters(), lr=settings["rate"], momentum=0.9)
    for update in range(settings["updates"]):
        rate = settings["rate"] * 0.5 * (1 + math.cos(math.pi * update / settings["updates"]))
        optimizer.param_groups[0]["lr"] = rate
        pick = few_classes(y, settings) if few else torch.randint(len(x), (settings["batch"],))
        step(net, optimizer, x[pick], y[pick])
    fresh = refreshed(net, x)
    net.eval()
    errors = {
        "evaluation": error_percent(net, x_test, y_test),
        "precise": error_percent(fresh, x_test, y_test),
        "mixed": in_batches(net, x_test, y_test, torch.randperm(len(y_test)), settings["test_batch"]),
        "sorted": in_batches(net, x_test, y_test, y_test.argsort(), settings["test_batch"]),
    }
    return {key: round(value, 3) for key, value in errors.items()}


def run(settings: dict[str, Any], seeds: list[int]) -> Any:
    """Return {training batches: {kind: [one entry per seed]}}."""
    return {
        name: {kind: [run_one(kind, few, seed, settings) for seed in seeds] for kind in SHORT}
        for name, few in (("mixed", False), ("two classes", True))
    }


def numbers(values: Any) -> dict[str, str]:
    """Return what the sentences quote."""
    said = {}
    for trained, short in (("mixed", "mixed"), ("two classes", "two")):
        for kind, letters in SHORT.items():
            entries = values[trained][kind]
            said[f"{short}_{letters}"] = spread([entry["evaluation"] for entry in entries])
            if kind == "batch norm":
                for key in ("precise", "mixed", "sorted"):
                    said[f"{short}_bn_{key}"] = spread([entry[key] for entry in entries])
    said["seeds"] = str(len(entries))
    return said


def tables(values: Any) -> dict[str, str]:
    """Return one table for training on mixed batches and one for batches of two classes, by norm."""
    head = ["norm", "evaluation mode", "training mode, mixed", "training mode, sorted"]
    return {
        key: table(
            head,
            [
                [kind, *(spread([entry[what] for entry in entries]) for what in ("evaluation", "mixed", "sorted"))]
                for kind, entries in values[trained].items()
            ],
        )
        for key, trained in (("trained_mixed", "mixed"), ("trained_two", "two classes"))
    }
