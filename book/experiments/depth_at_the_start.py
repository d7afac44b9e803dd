"""A deep plain network before any training: are inputs still told apart, and how large is the gradient?"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from _text import mean, spread, table
from torch import Tensor, nn

QUESTION = "After 50 random layers, are two inputs still different, and how large is the gradient at the bottom?"
EXPECTED = (
    "without a norm and with layer or RMS norm all inputs come to point one way, while gradients keep their size; batch "
    "norm keeps the cosine near 1/π = 0.318 and lets gradients grow by √(π/(π-1)) = 1.211 a layer."
)
SETTINGS = {"depth": 50, "width": 128, "samples": 128}
SEEDS = (0, 1, 2, 3, 4)
SMALL = {**SETTINGS, "depth": 50, "width": 32}
KINDS = ("no norm", "layer norm", "RMS norm", "batch norm")
LAYERS = (1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 35, 40, 45, 50)  # those that the record keeps


def apply(kind: str, h: Tensor) -> Tensor:
    """Apply a layer without parameters to h, (N, C)."""
    if kind == "batch norm":
        return F.batch_norm(h, None, None, training=True)
    if kind == "no norm":
        return h
    return (F.layer_norm if kind == "layer norm" else F.rms_norm)(h, h.shape[1:])


def effective_rank(h: Tensor) -> float:
    """Return exp of the entropy of the squared singular values, taken as shares: h has so many directions in use."""
    share = torch.linalg.svdvals(h.double()).square()
    share = share / share.sum()
    return math.exp(-torch.xlogy(share, share).sum().item())


def run_one(kind: str, seed: int, settings: dict[str, Any], he: bool = True) -> dict[str, Any]:
    """Return cosine of two inputs and size of the gradient by layer, and the effective rank at the top."""
    torch.manual_seed(seed)
    width, samples = settings["width"], settings["samples"]
    h = torch.randn(samples, width)
    weights, cosines = [], []
    for _ in range(settings["depth"]):
        w = torch.randn(width, width) * (2 / width) ** 0.5 if he else nn.Linear(width, width).weight.detach()
        weights.append(w.requires_grad_())
        h = apply(kind, h @ weights[-1].mT).relu()
        unit = F.normalize(h.detach(), dim=1)
        cosines.append(((unit @ unit.mT).sum().item() - samples) / (samples * (samples - 1)))
    sizes = [g.norm().item() for g in torch.autograd.grad((h * torch.randn_like(h)).sum(), weights)]
    return {
        "cosine": [round(cosines[k - 1], 4) for k in LAYERS] if he else [],
        "gradient": [float(f"{sizes[k - 1]:.4g}") for k in LAYERS],
        "rank": round(effective_rank(h.detach()), 2) if he else None,
    }


def run(settings: dict[str, Any], seeds: list[int]) -> Any:
    """Return the layers kept and {kind: [one entry per seed]}; last, torch's default start without a norm."""
    found = {kind: [run_one(kind, seed, settings) for seed in seeds] for kind in KINDS}
    found["default start"] = [run_one("no norm", seed, settings, he=False) for seed in seeds]
    return {"layers": list(LAYERS), "kinds": found}


def growth(entry: dict[str, Any]) -> float:
    """Return the factor per layer, going down, by which the gradient grows."""
    return (entry["gradient"][0] / entry["gradient"][-1]) ** (1 / (LAYERS[-1] - LAYERS[0]))


def numbers(values: Any) -> dict[str, str]:
    """Return what the sentences quote."""
    values = values["kinds"]
    said = {
        f"{key}_{short}": spread([entry[key][-1] if key == "cosine" else entry[key] for entry in values[kind]], digits)
        for short, kind in (("none", "no norm"), ("ln", "layer norm"), ("rms", "RMS norm"), ("bn", "batch norm"))
        for key, digits in (("cosine", 3), ("rank", 1))
    }
    said["growth_bn"] = spread([growth(entry) for entry in values["batch norm"]], 4)
    said["growth_none"] = spread([growth(entry) for entry in values["no norm"]], 2)
    total = mean([entry["gradient"][0] / entry["gradient"][-1] for entry in values["batch norm"]], 0)
    said["total_bn"] = total
    default = max(entry["gradient"][0] for entry in values["default start"])
    said["default_power"] = f"{math.floor(math.log10(default))}"
    return said


def tables(values: Any) -> dict[str, str]:
    """Return one table of the layers."""
    values = values["kinds"]
    rows = [
        [
            kind,
            spread([entry["cosine"][-1] for entry in values[kind]], 3),
            spread([entry["rank"] for entry in values[kind]], 1),
            spread([growth(entry) for entry in values[kind]], 3),
        ]
        for kind in KINDS
    ]
    return {"all": table(["network", "cosine at the top", "effective rank", "gradient, growth a layer"], rows)}
