"""Measures, in a residual network before any training, how strong each branch is against the stream it is added to."""

from __future__ import annotations

import statistics
from typing import Any

import torch
import torch.nn.functional as F
from _digits import digits
from _text import table
from torch import Tensor

QUESTION = "How much does block k of a residual network add, at the start, to what passes by it?"
EXPECTED = (
    "without a norm as much power as passes by, so that the stream doubles in each block; with batch or layer norm at "
    "the start of each branch a share that falls as 1/k; with layer norm behind each addition an equal share for ever."
)
SETTINGS = {"blocks": 50, "width": 256, "samples": 256}
SEEDS = [0, 1, 2, 3, 4, 5, 6, 7]
SMALL = {"blocks": 50, "width": 32, "samples": 32}
KINDS = ("no norm", "batch norm", "layer norm", "layer norm behind")


def branch(h: Tensor, kind: str) -> Tensor:
    """Return a fresh random branch's output: perhaps a norm, then ReLU, then a linear layer with He's initialization."""
    if kind == "batch norm":
        h = F.batch_norm(h, None, None, training=True)
    elif kind == "layer norm":
        h = F.layer_norm(h, h.shape[1:])
    return h.relu() @ torch.randn(h.shape[1], h.shape[1]) * (2 / h.shape[1]) ** 0.5


def power(h: Tensor) -> float:
    """Return the mean of the squares."""
    return h.square().mean().item()


def follow(kind: str, seed: int, settings: dict[str, Any], images: Tensor) -> dict[str, list[float]]:
    """Return, block by block, branch power over stream power, and the stream's power behind the addition."""
    torch.manual_seed(seed)
    picked = images[torch.randperm(len(images))[: settings["samples"]]]
    h = picked @ torch.randn(picked.shape[1], settings["width"]) / picked.shape[1] ** 0.5
    ratio, stream = [], []
    for _ in range(settings["blocks"]):
        added = branch(h, kind)
        ratio.append(float(f"{power(added) / power(h):.4g}"))
        h = h + added
        stream.append(float(f"{power(h):.4g}"))
        if kind == "layer norm behind":
            h = F.layer_norm(h, h.shape[1:])
    return {"ratio": ratio, "stream": stream}


def run(settings: dict[str, Any], seeds: list[int]) -> dict[str, Any]:
    """Return the two lists of each seed, by kind."""
    images = digits()[0]
    return {kind: [follow(kind, seed, settings, images) for seed in seeds] for kind in KINDS}


def size(numbers: list[float]) -> str:
    """Return mean and standard deviation, with a power of ten where the number is large."""
    mean, std = statistics.fmean(numbers), statistics.stdev(numbers)
    if mean < 1000:
        digits = 1 if mean > 10 else 3 if mean < 0.2 else 2
        return f"{mean:.{digits}f} ± {std:.{digits}f}"
    ten = len(str(int(mean))) - 1
    return f"({mean / 10**ten:.1f} ± {std / 10**ten:.1f}) · 10{''.join('⁰¹²³⁴⁵⁶⁷⁸⁹'[int(d)] for d in str(ten))}"


def at(values: dict[str, Any], kind: str, what: str, block: int) -> str:
    """Return one quantity at one block, over the seeds."""
    return size([seed[what][block - 1] for seed in values[kind]])


def numbers(values: dict[str, Any]) -> dict[str, str]:
    """Return the ratios and the stream at blocks 1, 10 and 50."""
    keys = {"no norm": "none", "batch norm": "bn", "layer norm": "ln", "layer norm behind": "post"}
    return {
        f"{key}_{what}_{block}": at(values, kind, what, block)
        for kind, key in keys.items()
        for what in ("ratio", "stream")
        for block in (1, 10, 50)
    }


def tables(values: dict[str, Any]) -> dict[str, str]:
    """Return the ratio at three blocks."""
    rows = [[kind, *(at(values, kind, "ratio", block) for block in (1, 10, 50))] for kind in KINDS]
    return {"ratio": table(["branch / stream", "block 1", "block 10", "block 50"], rows)}
