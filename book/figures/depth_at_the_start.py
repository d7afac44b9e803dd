"""A deep plain network before any training: are inputs still told apart, and how large is the gradient, by layer."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from _digits import STYLES
from matplotlib.figure import Figure
from torch import Tensor

DEPTH, WIDTH, SAMPLES, SEEDS = 50, 128, 128, 5


def normalize(h: Tensor, kind: str) -> Tensor:
    """Apply a layer without parameters to h, (N, C)."""
    if kind == "batch norm":
        return F.batch_norm(h, None, None, training=True)
    return F.layer_norm(h, (WIDTH,)) if kind == "layer norm" else h


def run(kind: str, seed: int) -> tuple[list[float], list[float]]:
    """Return, per layer, the mean cosine of two samples and the norm of the weight's gradient."""
    torch.manual_seed(seed)
    h = torch.randn(SAMPLES, WIDTH)
    weights, cosines = [], []
    for _ in range(DEPTH):
        weights.append((torch.randn(WIDTH, WIDTH) * (2 / WIDTH) ** 0.5).requires_grad_())
        h = normalize(h @ weights[-1].mT, kind).relu()
        unit = F.normalize(h.detach(), dim=1)
        cosines.append(float(((unit @ unit.mT).sum() - SAMPLES) / (SAMPLES * (SAMPLES - 1))))
    gradients = torch.autograd.grad((h * torch.randn_like(h)).sum(), weights)
    return cosines, [g.norm().item() for g in gradients]


def draw() -> Figure:
    """Draw the cosine above and the gradient, relative to the last layer's, below."""
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(4.5, 5), sharex=True, layout="constrained")
    layers = range(1, DEPTH + 1)
    for kind in ("no norm", "layer norm", "batch norm"):
        colour, line, _ = STYLES[kind]
        runs = [run(kind, seed) for seed in range(SEEDS)]
        top.plot(layers, torch.tensor([r[0] for r in runs]).mean(0), line, color=colour, linewidth=2, label=kind)
        size = torch.tensor([r[1] for r in runs]).log().mean(0).exp()
        bottom.semilogy(layers, size / size[-1], line, color=colour, linewidth=2)
    top.set_ylim(0, 1.05)
    top.set_ylabel("cosine of two inputs")
    top.legend(fontsize=9.5, loc="center right")
    bottom.set_ylabel("gradient / last layer's")
    bottom.set_xlabel("layer")
    return figure
