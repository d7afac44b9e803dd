"""Training loss of one network at five scales of its weights, under plain SGD at one rate."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from _record import record
from matplotlib.figure import Figure

STYLES = {
    "10": ("#c2185b", "-", "s"),
    "3": ("#b26a00", "--", "^"),
    "1": ("black", "-", "o"),
    "0.3": ("#2e7d32", "-.", "v"),
    "0.1": ("#0b57d0", ":", "x"),
}


def draw() -> Figure:
    """Draw the mean over the seeds with a band of one standard deviation, on a logarithmic axis."""
    seen = record("scale_invariance")
    every = seen["settings"]["every"]
    figure, ax = plt.subplots(figsize=(4.5, 3.8), layout="constrained")
    for scale, (colour, line, marker) in STYLES.items():
        runs = seen["values"]["SGD"][scale]
        curves = np.array([[one["start"], *one["curve"]] for one in runs])  # (seeds, times)
        steps = np.array([0.0, *(every * (np.arange(curves.shape[1] - 1) + 0.5))])
        middle, width = curves.mean(0), curves.std(0, ddof=1)
        ax.fill_between(steps, np.maximum(middle - width, 0.02), middle + width, color=colour, alpha=0.15, linewidth=0)
        ax.semilogy(steps, middle, line, color=colour, marker=marker, markersize=4, label=f"weights × {scale}")
    ax.set_xlabel("training steps")
    ax.set_ylabel("training loss")
    ax.legend(fontsize=9.5)
    return figure
