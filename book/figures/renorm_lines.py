"""The map from x to x_hat that 25 batches make of one channel: batch norm, batch renorm, and evaluation."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
from _style import STYLES
from matplotlib.figure import Figure

BATCH, BATCHES, MEAN, STD = 4, 25, 1.0, 2.0
PANELS = (("batch norm: limits 1 and 0", 1.0, 0.0), ("batch renorm: limits 1.5 and 0.5", 1.5, 0.5))


def draw() -> Figure:
    """Draw a straight line per batch over the remembered line, in two panels."""
    batches = MEAN + STD * torch.randn(BATCHES, BATCH, generator=torch.Generator().manual_seed(1))
    ends = torch.tensor([MEAN - 3 * STD, MEAN + 3 * STD])
    figure, axes = plt.subplots(2, 1, figsize=(4.5, 6), sharex=True, sharey=True, layout="constrained")
    for ax, (title, r_max, d_max) in zip(axes, PANELS, strict=True):
        for batch in batches:
            mu, s = batch.mean(), batch.std(correction=0)
            stretch = (s / STD).clamp(1 / r_max, r_max)
            shift = ((mu - MEAN) / STD).clamp(-d_max, d_max)
            ax.plot(ends, (ends - mu) / s * stretch + shift, color=STYLES["batch norm"][0], alpha=0.5, linewidth=0.9)
        ax.plot(ends, (ends - MEAN) / STD, "--", color="black", linewidth=2.2, label="evaluation")
        ax.set_title(title, fontsize=11)
        ax.set_ylim(-6, 6)
        ax.set_ylabel("normalized value")
    axes[0].legend(fontsize=10, loc="upper left")
    axes[1].set_xlabel("input x of one channel")
    return figure
