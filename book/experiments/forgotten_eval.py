"""What happens to a finished model that answers requests in training mode, without gradients, and is then evaluated?"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from _digits import digits, error_percent, perceptron, step
from _text import mean, spread, table
from torch import Tensor, nn

QUESTION = "What do requests that are answered in training mode do to a finished model with batch norm?"
EXPECTED = (
    "requests of all ten digits do little harm, because their statistics are nearly those of the training data; "
    "requests of a single digit, or very small ones, should ruin evaluation, and neither `no_grad` nor "
    "`requires_grad_(False)` should prevent it"
)
SETTINGS: dict[str, Any] = {"steps": 300, "batch": 64, "rate": 0.1, "requests": [0, 1, 2, 5, 10, 20, 50], "images": 16}
SEEDS = range(5)
SMALL = {**SETTINGS, "steps": 20}
KINDS = ("all digits, 16 images", "one digit, 16 images", "all digits, 2 images")
DIGIT = 0


def serve(net: nn.Module, x: Tensor) -> None:
    """Answer one request as a careless server does: gradients are off everywhere, the mode was forgotten."""
    net.train().requires_grad_(False)
    with torch.no_grad():
        net(x)


def look(settings: dict[str, Any], seed: int) -> dict[str, list[float]]:
    """Train once; return, per kind of requests, the test error in evaluation mode after each number of them."""
    x, y, x_test, y_test = digits()
    torch.manual_seed(seed)
    trained = perceptron(nn.BatchNorm1d, depth=3)
    sgd = torch.optim.SGD(trained.parameters(), settings["rate"], momentum=0.9)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(sgd, settings["steps"])
    for _ in range(settings["steps"]):
        batch = torch.randint(len(x), (settings["batch"],))
        step(trained, sgd, x[batch], y[batch])
        slower.step()
    found = {}
    for kind in KINDS:
        net = copy.deepcopy(trained)
        pool = x_test[y_test == DIGIT] if kind.startswith("one") else x_test
        size = 2 if kind.endswith(" 2 images") else settings["images"]
        errors = []
        for k in range(max(settings["requests"]) + 1):
            if k in settings["requests"]:
                errors.append(round(error_percent(net.eval(), x_test, y_test), 3))
            serve(net, pool[torch.randint(len(pool), (size,))])
        found[kind] = errors
    return found


def run(settings: dict[str, Any], seeds: Sequence[int]) -> dict[str, list[list[float]]]:
    """Return, for each kind of requests, one list of errors a seed."""
    seen = [look(settings, seed) for seed in seeds]
    return {kind: [one[kind] for one in seen] for kind in KINDS}


def numbers(values: Any) -> dict[str, str]:
    """Return the errors that the text names."""
    at = SETTINGS["requests"].index
    after = {kind: {k: mean([e[at(k)] for e in values[kind]]) for k in SETTINGS["requests"]} for kind in KINDS}
    mixed, one, two = (after[kind] for kind in KINDS)
    return {
        "before": mixed[0],
        "mixed_fifty": mixed[50],
        "one_first": one[1],
        "one_five": one[5],
        "one_fifty": one[50],
        "two_fifty": two[50],
    }


def tables(values: Any) -> dict[str, str]:
    """Return the errors after some of the numbers of requests."""
    shown = [0, 2, 10, 50]
    rows = [
        [kind, *(spread([e[SETTINGS["requests"].index(k)] for e in values[kind]]) for k in shown)] for kind in KINDS
    ]
    return {"errors": table(["requests", *map(str, shown)], rows)}
