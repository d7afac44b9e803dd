"""Training loss of post-norm and pre-norm decoders with and without a warm-up, at two learning rates."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from _record import record
from matplotlib.figure import Figure

STYLES = {
    "post": ("#c2185b", "-"),
    "post, warm-up": ("#c2185b", ":"),
    "pre": ("#0b57d0", "-"),
    "pre, warm-up": ("#0b57d0", ":"),
}


def draw() -> Figure:
    """Draw the mean over the seeds with a band of one standard deviation, one panel a rate."""
    seen = record("pre_post_norm_training")
    every = seen["settings"]["every"]
    entropy = record("pre_post_norm_gradients")["values"]["entropy"]
    figure, axes = plt.subplots(2, 1, figsize=(4.5, 6), sharex=True, sharey=True, layout="constrained")
    for ax, (rate, kinds) in zip(axes, seen["values"].items(), strict=True):
        for kind, (colour, line) in STYLES.items():
            curves = np.array([one["curve"] for one in kinds[kind]])  # (seeds, times)
            steps = every * (np.arange(curves.shape[1]) + 0.5)
            middle, width = curves.mean(0), curves.std(0, ddof=1)
            ax.fill_between(steps, middle - width, middle + width, color=colour, alpha=0.15, linewidth=0)
            ax.plot(steps, middle, line, color=colour, linewidth=2, label=kind)
        ax.axhline(entropy, color="black", linestyle="--", linewidth=1, zorder=0)
        ax.set_title(f"Adam, rate {rate}", fontsize=11)
        ax.set_ylabel("training loss, nats a character")
        ax.set_ylim(None, 4)
    axes[0].legend(fontsize=9.5)
    axes[1].set_xlabel("training steps")
    return figure
