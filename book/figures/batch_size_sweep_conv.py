"""Batch norm's error in a small convolutional network against m at its last norm, as recorded by the experiment."""

from __future__ import annotations

import statistics

import matplotlib.pyplot as plt
from _record import record
from _style import STYLES
from batch_size_sweep import dress
from matplotlib.figure import Figure

MARKERS = {"1": "o", "2": "s", "4": "^"}


def draw() -> Figure:
    """Draw batch norm filled and group norm hollow; a marker stands for the size of the last maps."""
    errors = record("batch_size_sweep_conv")["values"]["errors"]
    figure, ax = plt.subplots(figsize=(4.5, 4.2), layout="constrained")
    for norm in ("group norm", "batch norm"):
        colour, line, _ = STYLES[norm]
        for side, cells in errors[norm].items():
            m = [int(size) * int(side) ** 2 * (1.05 if norm == "group norm" else 1) for size in cells]
            means = [statistics.fmean(cell) for cell in cells.values()]
            spreads = [statistics.stdev(cell) for cell in cells.values()]
            fill = colour if norm == "batch norm" else "none"
            label = f"{norm}, {side} × {side}"
            ax.errorbar(m, means, spreads, ls=line, lw=1, marker=MARKERS[side], mfc=fill, color=colour, label=label)
    dress(ax, [2, 4, 8, 16, 32, 64, 128, 256])
    ax.set_xlabel("m at the last norm: images times positions")
    ax.set_ylabel("test error in %")
    ax.legend(fontsize=9.5, ncols=2, loc="upper center", bbox_to_anchor=(0.45, -0.17), columnspacing=1)
    return figure
