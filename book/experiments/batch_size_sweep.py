"""Test error against batch size for five layers in a network without positions, where m is the batch size.

Trained twice: for as many epochs at every batch size, as Wu and He did, and for as many updates. The pieces of
training that the convolutional sweep shares stand here as well.
"""

from __future__ import annotations

import copy
import math
import statistics
from typing import Any

import torch
from _digits import NORMS, MakeNorm, batches, digits, error_percent, perceptron, step
from _text import mean, spread, table
from torch import Tensor, nn

QUESTION = "How does the error depend on the batch size with batch norm, with what was made to repair it, and without?"
EXPECTED = (
    "batch norm should fail at 2 (about half of the test images wrong), be near the others at 4 and a little better "
    "from 8 on; layer norm, group norm and the network without a norm should not care; batch renorm should lie between at 2"
)
SETTINGS: dict[str, Any] = {
    "sizes": [2, 4, 8, 16, 32],
    "epochs": 8,
    "updates": 336,
    "rate at 32": 0.1,
    "momentum": 0.9,
    "width": 128,
    "depth": 3,
    "renorm": {"weight of the new": 0.1, "closed for": 200, "opening for": 400, "r": 3.0, "d": 5.0},
}
SEEDS = range(5)
SMALL = {**SETTINGS, "epochs": 0, "updates": 2, "width": 32}

# Wu and He 2018: ResNet-50 on ImageNet, validation error in per cent by images per GPU
PAPER = {2: (34.7, 24.1), 4: (27.3, 24.2), 8: (24.8, 24.0), 16: (23.7, 24.2), 32: (23.6, 24.1)}  # batch, group norm


class Renorm(nn.Module):
    """Batch renormalization of (N, C): the batch's result, moved by bounded constants towards the remembered one."""

    def __init__(self, width: int, about: dict[str, float]) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.register_buffer("centre", torch.zeros(width))
        self.register_buffer("spread", torch.ones(width))
        self.about, self.seen = about, 0

    def limits(self) -> tuple[float, float]:
        """Return the largest correction of the scale and of the centre that this step allows."""
        open_ = min(1.0, max(0.0, (self.seen - self.about["closed for"]) / self.about["opening for"]))
        return 1 + open_ * (self.about["r"] - 1), open_ * self.about["d"]

    def forward(self, x: Tensor) -> Tensor:
        """Use the batch's statistics, corrected, while training, and the remembered ones in evaluation."""
        if not self.training:
            return torch.addcmul(self.bias, (x - self.centre) / self.spread, self.weight)
        mu = x.mean(0)
        s = (x.var(0, correction=0) + 1e-5).sqrt()
        most, far = self.limits()
        with torch.no_grad():  # the corrections are constants to the gradient
            stretch = (s / self.spread).clamp(1 / most, most)
            shift = ((mu - self.centre) / self.spread).clamp(-far, far)
            self.centre.lerp_(mu, self.about["weight of the new"])
            self.spread.lerp_(s, self.about["weight of the new"])
        self.seen += 1
        return torch.addcmul(self.bias, (x - mu) / s * stretch + shift, self.weight)


def fit(net: nn.Module, order: list[Tensor], x: Tensor, y: Tensor, rate: float, momentum: float) -> nn.Module:
    """Take one step per batch of indices, the rate falling to zero along half a cosine."""
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=momentum)
    for done, index in enumerate(order):
        optimizer.param_groups[0]["lr"] = rate * 0.5 * (1 + math.cos(math.pi * done / len(order)))
        step(net, optimizer, x[index], y[index])
    return net


def error_together(net: nn.Module, x: Tensor, y: Tensor, size: int) -> float:
    """Return the error in training mode, on batches of the given size; the network stays as it is."""
    net = copy.deepcopy(net).train()
    parts = [error_percent(net, *part) for part in zip(x.split(size), y.split(size), strict=True) if len(part[0]) > 1]
    return statistics.fmean(parts)


def run(settings: dict[str, Any], seeds: list[int]) -> dict[str, Any]:
    """Return test errors by norm and size for equal epochs and equal updates, and batch norm's errors in both modes."""
    x, y, x_test, y_test = digits()
    norms: dict[str, MakeNorm] = {**NORMS, "batch renorm": lambda width: Renorm(width, settings["renorm"])}
    values: dict[str, Any] = {"epochs": {}, "updates": {}, "modes": {}}
    for norm, make in norms.items():
        for size in settings["sizes"]:
            rate = settings["rate at 32"] * size / 32
            for protocol in ("epochs", "updates"):
                if protocol == "updates" and norm not in ("batch norm", "layer norm"):
                    continue
                for seed in seeds:
                    torch.manual_seed(seed)  # same start and same batches for every norm
                    net = perceptron(make, settings["depth"], settings["width"])
                    if protocol == "epochs":
                        order = list(batches(len(x), size, settings["epochs"]))
                    else:
                        order = [torch.randint(len(x), (size,)) for _ in range(settings["updates"])]
                    fit(net, order, x, y, rate, settings["momentum"]).eval()
                    cell = values[protocol].setdefault(norm, {}).setdefault(str(size), [])
                    cell.append(error_percent(net, x_test, y_test))
                    if norm == "batch norm" and protocol == "epochs":
                        modes = {
                            "train, training mode": error_together(net, x, y, size),
                            "train, evaluation mode": error_percent(net, x, y),
                            "test, training mode": error_together(net, x_test, y_test, size),
                            "test, evaluation mode": cell[-1],
                        }
                        for mode, error in modes.items():
                            values["modes"].setdefault(str(size), {}).setdefault(mode, []).append(error)
    return values


SHORT = {"no norm": "none", "batch norm": "bn", "layer norm": "ln", "group norm": "gn", "batch renorm": "brn"}


def differences(values: dict[str, Any], size: str) -> list[float]:
    """Return group norm's error less batch norm's, seed by seed."""
    errors = values["epochs"]
    return [g - b for g, b in zip(errors["group norm"][size], errors["batch norm"][size], strict=True)]


def signed(values: list[float]) -> str:
    """Return mean and standard deviation with the mean's sign."""
    return f"{statistics.fmean(values):+.1f} ± {statistics.stdev(values):.1f}"


def numbers(values: dict[str, Any]) -> dict[str, str]:
    """Return each norm's error at each size, and batch norm's in both modes."""
    told = {f"{SHORT[n]}_{size}": spread(seen) for n, row in values["epochs"].items() for size, seen in row.items()}
    told |= {f"difference_{size}": signed(differences(values, size)) for size in ("2", "8", "16", "32")}
    told |= {f"{SHORT[n]}_updates_{s}": spread(seen) for n, row in values["updates"].items() for s, seen in row.items()}
    for size, modes in values["modes"].items():
        for mode, seen in modes.items():
            words = mode.replace(",", "").split()
            told[f"{words[0]}_set_{words[1]}_mode_{size}"] = mean(seen)
    return told


def tables(values: dict[str, Any]) -> dict[str, str]:
    """Return the sweep in two tables, the paper's differences beside ours, both modes, both protocols."""
    errors, modes = values["epochs"], values["modes"]

    def columns(norms: list[str]) -> str:
        return table(["batch size", *norms], [[size, *(spread(errors[n][size]) for n in norms)] for size in modes])

    kinds = list(modes["2"])
    return {
        "norms": columns(["batch norm", "layer norm", "group norm"]),
        "others": columns(["batch norm", "batch renorm", "no norm"]),
        "beside": table(
            ["batch size", "in the paper", "here"],
            [
                [size, f"{PAPER[int(size)][1] - PAPER[int(size)][0]:+.1f}", signed(differences(values, size))]
                for size in modes
            ],
        ),
        "modes": table(
            ["batch size", *kinds], [[size, *(spread(row[k]) for k in kinds)] for size, row in modes.items()]
        ),
        "protocols": table(
            ["batch size", *(f"{n}, equal {p}" for n in ("batch norm", "layer norm") for p in ("epochs", "updates"))],
            [
                [s, *(spread(values[p][n][s]) for n in ("batch norm", "layer norm") for p in ("epochs", "updates"))]
                for s in modes
            ],
        ),
    }
