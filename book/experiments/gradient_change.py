"""The gradient measure of internal covariate shift (Santurkar et al. 2018): what the steps below do to a gradient."""

from __future__ import annotations

import statistics
from typing import Any

import torch
import torch.nn.functional as F
from _digits import NORMS, digits, perceptron
from _text import spread, table
from torch import Tensor, nn
from torch.func import functional_call

QUESTION = "How much does a layer's gradient change when the layers below it take their step, with and without a norm?"
EXPECTED = (
    "after Santurkar et al. (2018), as much change with batch norm as without, or more; a first look at this size had "
    "shown less, so the question was whether that holds over seeds, rates and networks."
)
SETTINGS = {
    "cases": {"ReLU, rate 0.1": [True, 0.1], "ReLU, rate 0.03": [True, 0.03], "linear, rate 0.03": [False, 0.03]},
    "updates": 160,
    "every": 10,
    "batch": 64,
}
SEEDS = (0, 1, 2, 3, 4, 5)
SMALL = {**SETTINGS, "updates": 20}
KINDS = ("no norm", "batch norm", "layer norm")
FIGURE = "ReLU, rate 0.1"


def gradients(net: nn.Module, numbers: dict[str, Tensor], x: Tensor, y: Tensor) -> dict[str, Tensor]:
    """Return the gradient at these parameters; the module itself, buffers included, stays as it is."""
    leaves = {name: value.detach().clone().requires_grad_() for name, value in numbers.items()}
    buffers = {name: value.clone() for name, value in net.named_buffers()}
    loss = F.cross_entropy(functional_call(net, {**leaves, **buffers}, (x,)), y)
    return dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))


def run_one(kind: str, relu: bool, rate: float, seed: int, settings: dict[str, Any]) -> dict[str, list[list[float]]]:
    """Train once; return, per time and hidden layer above the first, the change of the gradient in three units."""
    x, y, _, _ = digits()
    torch.manual_seed(seed)
    net = perceptron(NORMS[kind])
    if not relu:
        net = nn.Sequential(*(module for module in net if not isinstance(module, nn.ReLU)))
    linears = [int(name) for name, module in net.named_children() if isinstance(module, nn.Linear)]
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    seen: dict[str, list[list[float]]] = {"relative": [], "absolute": [], "cosine": []}
    for update in range(settings["updates"]):
        batch = torch.randint(len(x), (settings["batch"],))
        if update % settings["every"] == 0:
            here = dict(net.named_parameters())
            old = gradients(net, here, x[batch], y[batch])
            rows: dict[str, list[float]] = {key: [] for key in seen}
            for k in linears[1:-1]:
                moved = {n: v - rate * old[n] if int(n.split(".")[0]) < k else v for n, v in here.items()}
                a, b = old[f"{k}.weight"], gradients(net, moved, x[batch], y[batch])[f"{k}.weight"]
                gone = (b - a).norm().item()
                rows["absolute"].append(round(gone, 5))
                rows["relative"].append(round(gone / a.norm().item(), 4))
                rows["cosine"].append(round(F.cosine_similarity(a.flatten(), b.flatten(), dim=0).item(), 4))
            for key, row in rows.items():
                seen[key].append(row)
        optimizer.zero_grad()
        F.cross_entropy(net(x[batch]), y[batch]).backward()
        optimizer.step()
    return seen


def run(settings: dict[str, Any], seeds: list[int]) -> Any:
    """Return medians over times and layers for each case, and for the figure's case every time and layer."""
    found: dict[str, Any] = {"medians": {}, "paths": {}}
    for case, (relu, rate) in settings["cases"].items():
        found["medians"][case] = {}
        for kind in KINDS:
            runs = [run_one(kind, relu, rate, seed, settings) for seed in seeds]
            found["medians"][case][kind] = {
                key: [round(statistics.median(v for row in one[key] for v in row), 4) for one in runs]
                for key in runs[0]
            }
            if case == FIGURE:
                found["paths"][kind] = [one["relative"] for one in runs]
    return found


def numbers(values: Any) -> dict[str, str]:
    """Return what the sentences quote."""
    case = values["medians"][FIGURE]
    said = {
        f"{key}_{short}": spread(case[kind][key], 2)
        for short, kind in (("none", "no norm"), ("bn", "batch norm"), ("ln", "layer norm"))
        for key in ("relative", "absolute", "cosine")
    }
    said["seeds"] = str(len(case["no norm"]["relative"]))
    return said


def tables(values: Any) -> dict[str, str]:
    """Return one table for each network and rate: relu_fast, relu_slow, linear."""
    return {
        key: table(
            ["norm", "relative change", "change", "cosine"],
            [
                [kind, *(spread(found[what], 2) for what in ("relative", "absolute", "cosine"))]
                for kind, found in kinds.items()
            ],
        )
        for key, kinds in zip(("relu_fast", "relu_slow", "linear"), values["medians"].values(), strict=True)
    }
