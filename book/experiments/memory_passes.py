"""Times normalization layers against a plain copy, one processor core: do counted passes over memory predict the time?

The seeds number the rounds: in each round everything is timed anew, in random order, and only ratios within a round
are formed. What is timed is CPU time of one thread. The result is this machine's; no test and no page depends on it.
"""

from __future__ import annotations

import contextlib
import ctypes
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from _text import spread, table
from torch import Tensor

torch.set_num_threads(1)

QUESTION = "Is the time of a normalization layer that of its passes over memory?"
EXPECTED = (
    "roughly, on one core: about half as many copies as passes, with more for the backward passes, where a core is "
    "slow enough for the arithmetic to show; a layer written in Python operators takes several times as long; "
    "a convolution takes far longer than its two passes."
)
SETTINGS = {"shape": [64, 64, 64, 64], "groups": 8, "features": 512, "matrix": 1536, "tries": 3}
SEEDS = [0, 1, 2, 3, 4, 5, 6, 7]
SMALL = {"shape": [4, 64, 16, 16], "groups": 8, "features": 64, "matrix": 64, "tries": 1}

# name: (passes over memory, operations an element), both counted in the chapter; None: not counted
COUNTED: dict[str, tuple[int | None, int | None]] = {
    "copy": (2, 0),
    "ReLU": (2, 1),
    "BN, evaluation": (2, 2),
    "BN, forward": (3, 8),
    "BN, backward": (5, 11),
    "GN, forward": (2, 8),
    "GN, backward": (3, 13),
    "LN, forward": (2, 8),
    "LN, backward": (3, 13),
    "RMS, forward": (2, 4),
    "RMS, backward": (3, 9),
    "BN in Python, forward": (None, None),
    "conv 3x3, forward": (2, 1152),
}
KEYS = {name: name.lower().replace(",", "").replace(" ", "_") for name in COUNTED}


def keep_memory() -> None:
    """Ask the C library to keep what is freed, or else each new tensor is paid for page by page (glibc only)."""
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(-4, 0)  # M_MMAP_MAX: no separate mappings
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD: give nothing back


def by_hand(x: Tensor) -> Tensor:
    """Write batch norm as one would on paper, without scale and shift."""
    mu = x.mean((0, 2, 3), keepdim=True)
    return (x - mu) / (((x - mu) ** 2).mean((0, 2, 3), keepdim=True) + 1e-5).sqrt()


def backward(layer: Callable[..., Tensor], x: Tensor, *parameters: Tensor) -> Callable[[], Any]:
    """Return a call of the layer's backward pass, whose forward pass has been run."""
    leaves = [t.clone().requires_grad_() for t in (x, *parameters)]
    y = layer(*leaves)
    dy = torch.randn_like(y)
    return lambda: torch.autograd.grad(y, leaves, dy, retain_graph=True)


def calls(settings: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name; all work on as many numbers."""
    n, c, h, w = settings["shape"]
    x = torch.randn(n, c, h, w)
    rows = x.view(-1, settings["features"])
    wide = (settings["features"],)
    mean, var, kernel = torch.zeros(c), torch.ones(c), torch.randn(64, c, 3, 3) / 24
    a, b, a_row, b_row = torch.ones(c), torch.zeros(c), torch.ones(wide), torch.zeros(wide)

    def bn(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return F.batch_norm(x, mean, var, a, b, training=True)

    def gn(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return F.group_norm(x, settings["groups"], a, b)

    def ln(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return F.layer_norm(x, wide, a, b)

    def rms(x: Tensor, a: Tensor) -> Tensor:
        return F.rms_norm(x, wide, a, 1e-6)

    left = torch.randn(settings["matrix"], settings["matrix"])
    return {
        "copy": x.clone,
        "ReLU": x.relu,
        "BN, evaluation": lambda: F.batch_norm(x, mean, var, a, b),
        "BN, forward": lambda: bn(x, a, b),
        "BN, backward": backward(bn, x, a, b),
        "GN, forward": lambda: gn(x, a, b),
        "GN, backward": backward(gn, x, a, b),
        "LN, forward": lambda: ln(rows, a_row, b_row),
        "LN, backward": backward(ln, rows, a_row, b_row),
        "RMS, forward": lambda: rms(rows, a_row),
        "RMS, backward": backward(rms, rows, a_row),
        "BN in Python, forward": lambda: by_hand(x),
        "conv 3x3, forward": lambda: F.conv2d(x, kernel, padding=1),
        "matrix product": lambda: left @ left,
    }


def run(settings: dict[str, Any], seeds: list[int]) -> dict[str, Any]:
    """Return milliseconds by name, one number for each round, and how many numbers and operations that was."""
    keep_memory()
    torch.manual_seed(0)
    timed = calls(settings)
    found: dict[str, list[float]] = {name: [] for name in timed}
    for seed in seeds:
        order = list(timed)
        random.Random(seed).shuffle(order)
        for name in order:
            with torch.set_grad_enabled("backward" in name):
                timed[name]()  # warm
                best = float("inf")
                for _ in range(settings["tries"]):
                    start = time.process_time()
                    timed[name]()
                    best = min(best, time.process_time() - start)
            found[name].append(round(1000 * best, 4))
    n, c, h, w = settings["shape"]
    return {"ms": found, "elements": n * c * h * w, "product": 2 * settings["matrix"] ** 3}


def ratios(values: dict[str, Any], name: str) -> list[float]:
    """Return the time in copies, by round."""
    return [a / b for a, b in zip(values["ms"][name], values["ms"]["copy"], strict=True)]


def numbers(values: dict[str, Any]) -> dict[str, str]:
    """Return each ratio, the copy's rate in GB/s and the matrix product's in 10^9 operations a second."""
    gigabytes = [8 * values["elements"] / ms / 1e6 for ms in values["ms"]["copy"]]
    rate = [values["product"] / ms / 1e6 for ms in values["ms"]["matrix product"]]
    balance = [r / g for r, g in zip(rate, gigabytes, strict=True)]
    step = [f + b for f, b in zip(ratios(values, "BN, forward"), ratios(values, "BN, backward"), strict=True)]
    norm, conv = (statistics.fmean(ratios(values, f"{name}, forward")) for name in ("BN", "conv 3x3"))
    to_conv = 100 * norm / conv
    return {
        **{KEYS[name]: spread(ratios(values, name)) for name in COUNTED if name != "copy"},
        "bandwidth": spread(gigabytes),
        "peak": spread(rate, 0),
        "balance": spread(balance),
        "bn_step": spread(step),
        "bn_to_conv": f"{to_conv:.1f}",
    }


def tables(values: dict[str, Any]) -> dict[str, str]:
    """Return counted against measured."""
    rows = []
    for name, (passes, _) in COUNTED.items():
        if name != "copy":
            counted = ["-", "-"] if passes is None else [str(passes), f"{passes / 2:.1f}"]
            rows.append([name, *counted, spread(ratios(values, name))])
    return {"times": table(["layer", "passes", "copies, counted", "copies, measured"], rows)}
