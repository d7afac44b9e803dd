"""Length of the weights before a batch norm over training, from two starts, with the predicted approach."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from _record import record
from matplotlib.figure import Figure

STYLES = (("#0b57d0", "o"), ("#c2185b", "s"))


def draw() -> Figure:
    """Draw one panel for each pair of rate and decay: means, bands of one standard deviation, predictions dashed."""
    seen = record("weight_decay_equilibrium")
    every = seen["settings"]["every"]
    pairs = seen["values"]
    figure, axes = plt.subplots(len(pairs), 1, figsize=(4.5, 7), sharex=True, layout="constrained")
    for ax, (pair, starts) in zip(axes, pairs.items(), strict=True):
        rate, decay = map(float, pair.split(", "))
        for (start, runs), (colour, marker) in zip(starts.items(), STYLES, strict=True):
            lengths = np.array([one["length"] for one in runs])  # (seeds, times)
            steps = every * np.arange(lengths.shape[1])
            middle, width = lengths.mean(0), lengths.std(0, ddof=1)
            goal = np.mean([one["predicted"] for one in runs]) ** 4
            path = (goal + (middle[0] ** 4 - goal) * np.exp(-4 * rate * decay * steps)) ** 0.25
            ax.fill_between(steps, middle - width, middle + width, color=colour, alpha=0.2, linewidth=0)
            ax.semilogy(steps, middle, color=colour, marker=marker, markevery=6, linewidth=2, label=f"start × {start}")
            ax.semilogy(steps, path, "--", color="black", linewidth=1)
        ax.set_title(f"rate {rate:g}, decay {decay:g}", fontsize=11)
        ax.set_yticks([1, 3, 10], ["1", "3", "10"])
        ax.set_ylim(0.4, 30)
        ax.minorticks_off()
        ax.set_ylabel("length")
    axes[-1].legend(fontsize=9.5, loc="lower right")
    axes[-1].set_xlabel("training steps")
    return figure
