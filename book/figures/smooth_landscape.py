"""The range of losses met along the gradient's direction, during training: no norm, layer norm, batch norm."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from _record import record
from _style import STYLES
from matplotlib.figure import Figure


def draw() -> Figure:
    """Draw the median over the seeds and the band from least to most, for five hidden layers."""
    found = record("smooth_landscape")
    figure, ax = plt.subplots(figsize=(4.5, 3.4), layout="constrained")
    for name, runs in found["values"]["5"].items():
        colour, line, marker = STYLES[name]
        seen = np.array([run["range"] for run in runs])  # (seeds, times)
        steps = found["settings"]["every"] * np.arange(seen.shape[1])
        ax.fill_between(steps, seen.min(0), seen.max(0), color=colour, alpha=0.2, linewidth=0)
        ax.semilogy(steps, np.median(seen, 0), line, marker=marker, markersize=4, color=colour, label=name)
    ax.set_xlabel("training steps")
    ax.set_ylabel("range of the loss along the step")
    ax.legend(fontsize=9.5)
    return figure
