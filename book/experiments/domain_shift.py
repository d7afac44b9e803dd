"""Test images that are paler and brighter than the training images: which norm minds, and what statistics repair."""

from __future__ import annotations

from typing import Any

import torch
from _conv_net import conv_net, images, refreshed, train
from _digits import MakeNorm, error_percent
from _text import spread, table
from torch import nn

QUESTION = "What does a change of brightness and contrast, x -> 0.4 x + 1, do to networks with different norms?"
EXPECTED = (
    "batch norm suffers most, and recovers almost wholly, without a label, when its statistics are taken anew from "
    "shifted images; instance norm suffers least, though not nothing, because zero padding spoils its invariance."
)
SETTINGS = {"updates": 200, "batch": 64, "rate": 0.1, "width": 24, "contrast": 0.4, "brightness": 1.0}
SEEDS = (0, 1, 2, 3, 4)
SMALL = {**SETTINGS, "updates": 10}
LAYERS: dict[str, MakeNorm] = {
    "no norm": lambda width: nn.Identity(),
    "batch norm": nn.BatchNorm2d,
    "layer norm": lambda width: nn.GroupNorm(1, width),
    "group norm": lambda width: nn.GroupNorm(4, width),
    "instance norm": lambda width: nn.InstanceNorm2d(width, affine=True),
}


def run_one(norm: MakeNorm, seed: int, settings: dict[str, Any]) -> dict[str, float]:
    """Train once; return the errors on clean and on shifted images, the latter also with statistics taken anew."""
    x, y, x_test, y_test = images()
    torch.manual_seed(seed)
    net = conv_net(norm, settings["width"])
    train(net, x, y, settings["updates"], settings["batch"], settings["rate"])
    net.eval()
    shifted = settings["contrast"] * x_test + settings["brightness"]
    again = refreshed(net, settings["contrast"] * x + settings["brightness"])
    errors = {
        "clean": error_percent(net, x_test, y_test),
        "shifted": error_percent(net, shifted, y_test),
        "refreshed": error_percent(again, shifted, y_test),
    }
    return {key: round(value, 3) for key, value in errors.items()}


def run(settings: dict[str, Any], seeds: list[int]) -> Any:
    """Return {norm: [one entry per seed]}."""
    return {name: [run_one(norm, seed, settings) for seed in seeds] for name, norm in LAYERS.items()}


def numbers(values: Any) -> dict[str, str]:
    """Return what the sentences quote."""
    said = {
        f"{key}_{short}": spread([entry[key] for entry in values[f"{name} norm"]])
        for short, name in (("none", "no"), ("bn", "batch"), ("gn", "group"), ("in", "instance"))
        for key in ("clean", "shifted", "refreshed")
        if key != "refreshed" or short == "bn"
    }
    said["seeds"] = str(len(values["no norm"]))
    return said


def tables(values: Any) -> dict[str, str]:
    """Return one row per norm; new statistics mean something for batch norm only."""
    rows = [
        [
            name,
            spread([entry["clean"] for entry in entries]),
            spread([entry["shifted"] for entry in entries]),
            spread([entry["refreshed"] for entry in entries]) if name == "batch norm" else "-",
        ]
        for name, entries in values.items()
    ]
    return {"all": table(["test error %", "clean", "shifted", "shifted, new statistics"], rows)}
