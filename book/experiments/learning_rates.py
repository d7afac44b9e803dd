"""Test error against the learning rate, with four norms, two initializations and two depths.

The rate of a norm is chosen on held-out training images; the test images are looked at once, with the rate chosen.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator
from typing import Any

import torch
from _digits import NORMS, batches, digits, error_percent, perceptron, step
from _text import spread, table
from torch import Tensor, nn

QUESTION = "Which learning rates can a network use with and without a norm, and how good is it at its best rate?"
EXPECTED = (
    "with a fair start batch norm should bear rates about ten times larger than the plain network and reach "
    "a somewhat lower error, the plain network should be ahead at small rates, and layer and group norm should not "
    "rescue 20 layers"
)
SETTINGS: dict[str, Any] = {
    "rates": [0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
    "batch": 64,
    "epochs": 10,
    "width": 64,
    "depth": 5,
    "deep": 20,
    "deep rates": [0.01, 0.03, 0.1, 0.3, 1],
    "held out": 270,
    "target": 10,  # per cent
    "look every": 4,  # steps
}
SEEDS = range(5)
SMALL = {**SETTINGS, "batch": 512, "epochs": 1, "deep": 6, "look every": 1}

SHORT = {"no norm": "none", "batch norm": "bn", "layer norm": "ln", "group norm": "gn"}
USABLE = 15  # per cent of held-out errors that a rate may have and still be called usable


def reset(net: nn.Sequential) -> nn.Sequential:
    """Give the linear layers torch's default start in place of He's."""
    for layer in net:
        if isinstance(layer, nn.Linear):
            layer.reset_parameters()
    return net


def runs(settings: dict[str, Any]) -> Iterator[tuple[str, str, float]]:
    """Give (start, norm, rate) of every training."""
    for start, norm in itertools.product(("he", "default", "deep"), NORMS):
        for rate in settings["deep rates" if start == "deep" else "rates"]:
            yield start, norm, rate


def train(start: str, norm: str, rate: float, seed: int, settings: dict[str, Any], data: tuple[Tensor, ...]) -> Any:
    """Return held-out error, test error, and the first step at which the held-out error was at the target."""
    x, y, x_held, y_held, x_test, y_test = data
    torch.manual_seed(seed)
    depth = settings["deep" if start == "deep" else "depth"]
    net = perceptron(NORMS[norm], depth, settings["width"])
    if start == "default":
        reset(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    reached = None
    for done, index in enumerate(batches(len(x), settings["batch"], settings["epochs"]), 1):
        step(net, optimizer, x[index], y[index])
        if start == "he" and reached is None and done % settings["look every"] == 0:
            if error_percent(net.eval(), x_held, y_held) <= settings["target"]:
                reached = done
            net.train()
    net.eval()
    return error_percent(net, x_held, y_held), error_percent(net, x_test, y_test), reached


def run(settings: dict[str, Any], seeds: list[int]) -> dict[str, Any]:
    """Return values[start][norm][rate][what], one number per seed; a target that was not reached is None."""
    x, y, x_test, y_test = digits()
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    held, kept = order[: settings["held out"]], order[settings["held out"] :]
    data = (x[kept], y[kept], x[held], y[held], x_test, y_test)
    values: dict[str, Any] = {}
    for start, norm, rate in runs(settings):
        seen = [train(start, norm, rate, seed, settings, data) for seed in seeds]
        cell = dict(zip(("held out", "test", "steps"), zip(*seen, strict=True), strict=True))
        values.setdefault(start, {}).setdefault(norm, {})[str(rate)] = cell
    return values


def tuned(rates: dict[str, Any]) -> str:
    """Return the rate with the lowest mean held-out error."""
    return min(rates, key=lambda rate: statistics.fmean(rates[rate]["held out"]))


def usable(rates: dict[str, Any], limit: float) -> str:
    """Return the smallest and the largest rate whose mean held-out error is within the limit."""
    good = [rate for rate in rates if statistics.fmean(rates[rate]["held out"]) <= limit]
    return f"{good[0]} to {good[-1]}" if good else "none"


def own_range(rates: dict[str, Any]) -> str:
    """Return the rates whose mean held-out error is at most twice the lowest of the same norm."""
    return usable(rates, 2 * statistics.fmean(rates[tuned(rates)]["held out"]))


def fastest(rates: dict[str, Any]) -> str:
    """Return the rate at which every run reaches the target, and does so soonest on average."""
    whole = [rate for rate in rates if None not in rates[rate]["steps"]]
    return min(whole, key=lambda rate: statistics.fmean(rates[rate]["steps"])) if whole else "none"


def steps_text(steps: list[int | None]) -> str:
    """Return mean and spread of the steps, or in how many runs the target was reached."""
    there = [s for s in steps if s is not None]
    if len(there) == len(steps):
        return spread(there, 0)
    return f"{len(there)} of {len(steps)} runs" if there else "never"


def numbers(values: dict[str, Any]) -> dict[str, str]:
    """Return the errors that the text speaks of."""
    told = {}
    for norm, short in SHORT.items():
        he, default, deep = (values[start][norm] for start in ("he", "default", "deep"))
        told[f"{short}_rate"] = tuned(he)
        told[f"{short}_best"] = spread(he[tuned(he)]["test"])
        told[f"{short}_usable"] = usable(he, USABLE)
        told[f"{short}_twice"] = own_range(he)
        told[f"{short}_at_small"] = spread(he["0.01"]["test"])
        quick = fastest(he)
        told[f"{short}_fast_rate"] = quick
        told[f"{short}_fast"] = "never" if quick == "none" else spread(he[quick]["steps"], 0)
        told[f"{short}_default_at_small"] = spread(default["0.01"]["test"])
        told[f"{short}_at_one"] = spread(he["1"]["test"])
        told[f"{short}_default"] = spread(default[tuned(default)]["test"])
        told[f"{short}_default_at_003"] = spread(default["0.03"]["test"])
        told[f"{short}_deep"] = spread(deep[tuned(deep)]["test"])
    return told


def tables(values: dict[str, Any]) -> dict[str, str]:
    """Return test errors by rate for each start, and the metrics of the chapter on benchmarks."""
    made = {}
    for start in ("he", "default", "deep"):
        rates = list(values[start]["no norm"])
        rows = [[rate, *(spread(values[start][norm][rate]["test"]) for norm in NORMS)] for rate in rates]
        made[start] = table(["learning rate", *NORMS], rows)
    he = values["he"]
    made["tuned"] = table(
        ["", "rate chosen", "held out", "test"],
        [[n, tuned(he[n]), *(spread(he[n][tuned(he[n])][part]) for part in ("held out", "test"))] for n in NORMS],
    )
    made["usable"] = table(
        ["", f"at most {USABLE} %", "at most twice its own best"],
        [[norm, usable(he[norm], USABLE), own_range(he[norm])] for norm in NORMS],
    )
    made["steps"] = table(
        ["learning rate", *NORMS],
        [[rate, *(steps_text(he[norm][rate]["steps"]) for norm in NORMS)] for rate in he["no norm"]],
    )
    return made
