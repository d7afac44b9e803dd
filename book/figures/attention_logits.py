"""How sharp attention is at a growing scale of the query and key weights: layer norm on the input, norm on q and k."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from matplotlib.figure import Figure

TOKENS, WIDTH, SEEDS = 64, 64, 20
SCALES = [2 ** (k / 2) for k in range(-2, 9)]


def largest_share(scale: float, seed: int, on_qk: bool) -> float:
    """Return the mean over tokens of the largest attention weight; input tokens are layer-normalized in both cases."""
    generator = torch.Generator().manual_seed(seed)
    x = F.layer_norm(torch.randn(TOKENS, WIDTH, generator=generator), (WIDTH,))
    q, k = (scale * x @ torch.randn(WIDTH, WIDTH, generator=generator) / WIDTH**0.5 for _ in range(2))
    if on_qk:
        q, k = F.rms_norm(q, (WIDTH,)), F.rms_norm(k, (WIDTH,))
    return (q @ k.mT / WIDTH**0.5).softmax(-1).amax(-1).mean().item()


def draw() -> Figure:
    """Draw the mean over seeds; bands from least to most."""
    figure, ax = plt.subplots(figsize=(4.5, 3.4), layout="constrained")
    for on_qk, style, colour, label in (
        (False, "s--", "#b26a00", "layer norm on the input"),
        (True, "o-", "#0b57d0", "and a norm on queries and keys"),
    ):
        runs = torch.tensor([[largest_share(scale, seed, on_qk) for scale in SCALES] for seed in range(SEEDS)])
        ax.plot(SCALES, runs.mean(0), style, color=colour, markersize=5, label=label)
        ax.fill_between(SCALES, runs.amin(0), runs.amax(0), color=colour, alpha=0.2, linewidth=0)
    ax.axhline(1 / TOKENS, color="black", linewidth=0.8)
    ax.set_xscale("log", base=2)
    ax.set_xticks([0.5, 1, 2, 4, 8, 16], ["0.5", "1", "2", "4", "8", "16"])
    ax.minorticks_off()
    ax.set_ylim(0, 1.3)
    ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    ax.set_xlabel("scale of the query and key weights")
    ax.set_ylabel("largest attention weight")
    ax.legend(fontsize=9.5, loc="upper left")
    return figure
