"""The batch-size sweep with convolutions: what counts is m = N H W, and what an image's positions are worth."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from _digits import batches, digits, error_percent
from _text import mean, spread, table
from batch_size_sweep import fit
from torch import Tensor, nn

QUESTION = (
    "Does batch norm fail at small batches in a convolutional network, and is it the batch or m = NHW that counts?"
)
EXPECTED = (
    "batch norm should fail only where the last maps are single pixels and the batch is 2; with larger maps it should "
    "be at least as good as group norm at every batch size, so ImageNet's picture should not reproduce"
)
SETTINGS: dict[str, Any] = {
    "sizes": [2, 4, 16],
    "strides": {"1": [2, 2, 2], "2": [2, 2, 1], "4": [2, 1, 1]},  # by the side of the last maps
    "epochs": 6,
    "rate at 32": 0.1,
    "momentum": 0.9,
    "width": 24,
    "groups": 4,
}
SEEDS = range(5)
SMALL = {**SETTINGS, "epochs": 0, "width": 8}

NAMES = ("batch norm", "group norm")


def network(norm: str, strides: list[int], settings: dict[str, Any]) -> nn.Sequential:
    """Return three times convolution - norm - ReLU, then the mean over positions and a linear read-out."""
    layers: list[nn.Module] = []
    width, inputs = settings["width"], 1
    for stride in strides:
        conv = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
        made = nn.BatchNorm2d(width) if norm == "batch norm" else nn.GroupNorm(settings["groups"], width)
        layers += [conv, made, nn.ReLU()]
        inputs = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


@torch.no_grad()
def worth(net: nn.Sequential, x: Tensor) -> float:
    """Return how many independent values one image is worth to the mean of a channel at the last norm.

    A mean over k independent values of variance V has variance V/k. So k is the variance of single values divided by
    the variance of the images' means, both summed over channels.
    """
    values = net[:7](x)  # (N, C, H, W), what the third norm is given
    return (values.var((0, 2, 3)).sum() / values.mean((2, 3)).var(0).sum()).item()


def run(settings: dict[str, Any], seeds: list[int]) -> dict[str, Any]:
    """Return test errors by norm, side of the last maps and batch size, and what an image is worth by side."""
    x, y, x_test, y_test = digits()
    x, x_test = x.view(-1, 1, 8, 8), x_test.view(-1, 1, 8, 8)
    values: dict[str, Any] = {"errors": {norm: {side: {} for side in settings["strides"]} for norm in NAMES}}
    values["worth"] = {side: [] for side in settings["strides"]}
    largest = max(settings["sizes"])
    for norm, (side, strides), size in itertools.product(NAMES, settings["strides"].items(), settings["sizes"]):
        rate = settings["rate at 32"] * size / 32
        for seed in seeds:
            torch.manual_seed(seed)
            net = network(norm, strides, settings)
            order = list(batches(len(x), size, settings["epochs"]))
            fit(net, order, x, y, rate, settings["momentum"]).eval()
            values["errors"][norm][side].setdefault(str(size), []).append(error_percent(net, x_test, y_test))
            if norm == "batch norm" and size == largest:
                values["worth"][side].append(worth(net, x))
    return values


def numbers(values: dict[str, Any]) -> dict[str, str]:
    """Return each error as bn_SIDE_SIZE or gn_SIDE_SIZE, and worth_SIDE."""
    told = {f"worth_{side}": mean(seen) for side, seen in values["worth"].items()}
    for short, norm in zip(("bn", "gn"), NAMES, strict=True):
        for side, row in values["errors"][norm].items():
            told |= {f"{short}_{side}_{size}": spread(seen) for size, seen in row.items()}
    return told


def tables(values: dict[str, Any]) -> dict[str, str]:
    """Return the errors by last maps and batch size, and the worth of an image."""
    errors = values["errors"]
    rows = [
        [f"{side} × {side}", size, str(int(size) * int(side) ** 2), *(spread(errors[n][side][size]) for n in NAMES)]
        for side, row in errors["batch norm"].items()
        for size in row
    ]
    return {
        "errors": table(["last maps", "images", "m", *NAMES], rows),
        "worth": table(
            ["last maps", "positions", "worth, in independent values"],
            [[f"{side} × {side}", str(int(side) ** 2), spread(seen)] for side, seen in values["worth"].items()],
        ),
    }
