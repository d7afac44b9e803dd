"""Trains networks of growing depth with and without skip connections, with and without batch norm."""

from __future__ import annotations

from typing import Any

import torch
from _digits import batches, error_percent, step
from _held_out import chosen, split_digits
from _text import spread, table
from torch import Tensor, nn

QUESTION = "Is it batch norm, or is it the skip connection, that lets a network be deep?"
EXPECTED = (
    "without skips, batch norm fades too as depth grows, because its gradients explode; with skips it trains at every "
    "depth, and so does a network without any norm whose branches are multiplied by a learned number that starts at zero."
)
SETTINGS = {
    "depths": [5, 20, 60],
    "width": 32,
    "rates": [0.003, 0.01, 0.03, 0.1],
    "batch": 64,
    "epochs": 10,
    "held_out": 297,
}
SEEDS = [0, 1, 2, 3, 4]
SMALL = {"depths": [2, 4], "width": 16, "rates": [0.03], "batch": 64, "epochs": 1, "held_out": 297}

KINDS = ("plain", "plain, batch norm", "skips", "skips, batch norm", "skips, scale from zero")


class Block(nn.Module):
    """ReLU, linear and perhaps a norm; the result replaces the input, or is added to it."""

    def __init__(self, width: int, kind: str) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        nn.init.kaiming_normal_(self.linear.weight, nonlinearity="relu")
        nn.init.zeros_(self.linear.bias)
        self.norm = nn.BatchNorm1d(width) if "batch norm" in kind else nn.Identity()
        self.skip = "skips" in kind
        self.scale = nn.Parameter(torch.zeros(())) if "zero" in kind else 1.0

    def forward(self, h: Tensor) -> Tensor:
        """Return h + branch(h), or branch(h) alone."""
        branch = self.scale * self.norm(self.linear(h.relu()))
        return h + branch if self.skip else branch


def errors(
    kind: str, depth: int, rate: float, seed: int, settings: dict[str, Any], data: tuple[Tensor, ...]
) -> list[float]:
    """Train once; return the error in per cent on held-out training images and on test images, in evaluation mode."""
    x, y, x_held, y_held, x_test, y_test = data
    torch.manual_seed(seed)
    width = settings["width"]
    blocks = [Block(width, kind) for _ in range(depth)]
    net = nn.Sequential(nn.Linear(64, width), *blocks, nn.ReLU(), nn.Linear(width, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    for pick in batches(len(x), settings["batch"], settings["epochs"]):
        step(net, optimizer, x[pick], y[pick])
    net.eval()
    return [error_percent(net, x_held, y_held), error_percent(net, x_test, y_test)]


def run(settings: dict[str, Any], seeds: list[int]) -> dict[str, Any]:
    """Return [held-out error, test error] of each seed, by kind, depth and rate."""
    data = split_digits(settings["held_out"])
    return {
        kind: {
            str(depth): {
                str(rate): [errors(kind, depth, rate, seed, settings, data) for seed in seeds]
                for rate in settings["rates"]
            }
            for depth in settings["depths"]
        }
        for kind in KINDS
    }


def numbers(values: dict[str, Any]) -> dict[str, str]:
    """Return the test errors at the greatest depth."""
    depths = sorted(values["plain"], key=int)
    keys = ("plain", "plain_bn", "skips", "skips_bn", "skips_zero")
    found = {key: spread(chosen(values[kind][depths[-1]])) for key, kind in zip(keys, KINDS, strict=True)}
    return {**found, "plain_bn_shallow": spread(chosen(values["plain, batch norm"][depths[0]])), "depth": depths[-1]}


def tables(values: dict[str, Any]) -> dict[str, str]:
    """Return the table of test errors: kind of network against depth."""
    depths = sorted(values["plain"], key=int)
    rows = [[kind, *(spread(chosen(values[kind][depth])) for depth in depths)] for kind in KINDS]
    return {"errors": table(["network", *(f"{depth} blocks" for depth in depths)], rows)}
