"""How does the momentum of batch norm's running statistics change the test error, after few steps and after many?"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from _digits import digits, error_percent, perceptron, step
from _text import mean, spread, table
from torch import Tensor, nn

QUESTION = "Which momentum of the running statistics gives the least test error, after few and after many steps?"
EXPECTED = (
    "a curve with a valley: on the left the start still weighs too much, on the right the statistics are those of one "
    "batch; with more steps the left wall moves left, and the right wall stays"
)
SETTINGS: dict[str, Any] = {
    "momenta": [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0],
    "checks": [25, 100, 800],
    "batch": 16,
    "rate": 0.02,
}
SEEDS = range(5)
SMALL = {**SETTINGS, "checks": [5, 10, 20]}


def look(settings: dict[str, Any], seed: int) -> dict[str, list[float]]:
    """Train once and keep running statistics for all momenta beside it; training itself never reads them."""
    x, y, x_test, y_test = digits()
    torch.manual_seed(seed)
    net = perceptron(nn.BatchNorm1d, depth=3)
    norms = [module for module in net if isinstance(module, nn.BatchNorm1d)]
    weights = torch.tensor(settings["momenta"])[:, None]  # (momenta, 1)
    kept = {norm: [torch.zeros(len(weights), 64), torch.ones(len(weights), 64)] for norm in norms}

    def note(norm: nn.Module, args: tuple[Tensor, ...]) -> None:
        received = args[0].detach()  # (N, C)
        for row, now in zip(kept[norm], (received.mean(0), received.var(0)), strict=True):
            row.lerp_(now.expand_as(row), weights.expand_as(row))

    handles = [norm.register_forward_pre_hook(note) for norm in norms]
    sgd = torch.optim.SGD(net.parameters(), settings["rate"], momentum=0.9)
    found = {}
    for t in range(1, max(settings["checks"]) + 1):
        batch = torch.randint(len(x), (settings["batch"],))
        step(net, sgd, x[batch], y[batch])
        if t in settings["checks"]:
            errors = []
            for i in range(len(weights)):
                for norm in norms:
                    norm.running_mean.copy_(kept[norm][0][i])
                    norm.running_var.copy_(kept[norm][1][i])
                judged = copy.deepcopy(net).eval()
                for module in judged:
                    module._forward_pre_hooks.clear()
                errors.append(round(error_percent(judged, x_test, y_test), 3))
            found[str(t)] = errors
    for handle in handles:
        handle.remove()
    return found


def run(settings: dict[str, Any], seeds: Sequence[int]) -> dict[str, list[list[float]]]:
    """Return, for each number of steps, one list of errors a seed, in the order of the momenta."""
    seen = [look(settings, seed) for seed in seeds]
    return {str(check): [one[str(check)] for one in seen] for check in settings["checks"]}


def column(values: Any, check: str, momentum: float) -> list[float]:
    """Return the errors of one momentum after some steps, for each seed."""
    return [errors[SETTINGS["momenta"].index(momentum)] for errors in values[check]]


def numbers(values: Any) -> dict[str, str]:
    """Return the errors that the text names, by number of steps (few, some, many) and momentum."""
    found = {}
    for name, check in zip(("few", "some", "many"), values, strict=True):
        for key, momentum in (("thousandth", 0.001), ("hundredth", 0.01), ("tenth", 0.1), ("third", 0.3), ("one", 1.0)):
            found[f"{name}_{key}"] = mean(column(values, check, momentum))
    return found


def tables(values: Any) -> dict[str, str]:
    """Return the errors, one row a momentum, one column a number of steps."""
    rows = [[f"{m:g}", *(spread(column(values, check, m)) for check in values)] for m in SETTINGS["momenta"]]
    return {"errors": table(["momentum", *(f"{check} steps" for check in values)], rows)}
