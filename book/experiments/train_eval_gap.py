"""One training, three sets of statistics: stored, of the test batch, and precise; for three momenta."""

from __future__ import annotations

import copy
from typing import Any

import torch
from _conv_net import conv_net, images, refreshed
from _digits import error_percent, step
from _text import mean, spread, table
from torch import nn

QUESTION = "How much of the test error during training is due to the weights, and how much to the stored statistics?"
EXPECTED = (
    "early on, and for long at momentum 0.01, the stored statistics are the problem and the weights are not: the error "
    "with the test batch's statistics or with precise ones is several times smaller."
)
SETTINGS = {"momenta": [0.9, 0.1, 0.01], "at": [5, 10, 20, 30, 50, 75, 100, 150], "batch": 64, "rate": 0.1}
SEEDS = (0, 1, 2, 3, 4)
SMALL = {**SETTINGS, "at": [2, 5, 10, 20, 50, 100, 101, 102], "batch": 4}


def run_one(seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Train once; the momenta share the training, which no running statistic enters."""
    x, y, x_test, y_test = images()
    torch.manual_seed(seed)
    net = conv_net(nn.BatchNorm2d)
    layers = [module for module in net if isinstance(module, nn.BatchNorm2d)]
    for layer in layers:
        layer.momentum = 1.0  # so that the buffers hold the statistics of the last batch
    stored = {
        m: [(layer.running_mean.clone(), layer.running_var.clone()) for layer in layers] for m in settings["momenta"]
    }
    optimizer = torch.optim.SGD(net.parameters(), lr=settings["rate"], momentum=0.9)
    seen: dict[str, Any] = {"batch": [], "precise": [], **{str(m): [] for m in settings["momenta"]}}
    for update in range(1, max(settings["at"]) + 1):
        pick = torch.randint(len(x), (settings["batch"],))
        step(net, optimizer, x[pick], y[pick])
        for m, pairs in stored.items():
            for layer, (mu, var) in zip(layers, pairs, strict=True):
                mu.lerp_(layer.running_mean, m)
                var.lerp_(layer.running_var, m)
        if update not in settings["at"]:
            continue
        seen["batch"].append(error_percent(copy.deepcopy(net).train(), x_test, y_test))
        with torch.random.fork_rng():
            seen["precise"].append(error_percent(refreshed(net, x), x_test, y_test))
        for m, pairs in stored.items():
            used = copy.deepcopy(net).eval()
            norms = [module for module in used if isinstance(module, nn.BatchNorm2d)]
            for layer, (mu, var) in zip(norms, pairs, strict=True):
                layer.running_mean.copy_(mu)
                layer.running_var.copy_(var)
            seen[str(m)].append(error_percent(used, x_test, y_test))
    return {key: [round(e, 3) for e in errors] for key, errors in seen.items()}


def run(settings: dict[str, Any], seeds: list[int]) -> Any:
    """Return the steps, and for each set of statistics {set: [one list over the steps per seed]}."""
    runs = [run_one(seed, settings) for seed in seeds]
    return {"at": settings["at"], "errors": {key: [one[key] for one in runs] for key in runs[0]}}


NAMES = {
    "0.9": "stored, momentum 0.9",
    "0.1": "stored, momentum 0.1",
    "0.01": "stored, momentum 0.01",
    "batch": "of the test batch",
    "precise": "precise, from training data",
}


def numbers(values: Any) -> dict[str, str]:
    """Return what the sentences quote: errors at the steps 10 and 50 (the second and the fifth of the list)."""
    said = {}
    for key in NAMES:
        for name, index in (("10", 1), ("50", 4), ("100", 6)):
            said[f"{key.replace('0.', 'm')}_{name}"] = mean([run[index] for run in values["errors"][key]])
    said["seeds"] = str(len(values["errors"]["batch"]))
    return said


def tables(values: Any) -> dict[str, str]:
    """Return error against steps, one row per set of statistics."""
    columns = (0, 1, 2, 4, 6)
    rows = [
        [title, *(spread([run[index] for run in values["errors"][key]]) for index in columns)]
        for key, title in NAMES.items()
    ]
    return {"all": table(["statistics", *(f"step {values['at'][index]}" for index in columns)], rows)}
