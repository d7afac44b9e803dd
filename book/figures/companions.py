"""One image, one trained network, many batches: the probability of the right class, by the company it is kept in."""

from __future__ import annotations

import matplotlib.pyplot as plt
from _record import record
from _style import STYLES
from matplotlib.figure import Figure


def draw() -> Figure:
    """Draw one histogram per batch size, and the single value of evaluation mode as a line: the first network."""
    first = record("companions")["values"][0]
    figure, axes = plt.subplots(len(first["sizes"]), 1, figsize=(4.5, 4.6), sharex=True, layout="constrained")
    for ax, (size, seen) in zip(axes, first["sizes"].items(), strict=True):
        bins = len(seen["counts"])
        left = [k / bins for k in range(bins)]
        ax.bar(left, seen["counts"], 1 / bins, align="edge", color=STYLES["batch norm"][0], alpha=0.8)
        ax.axvline(first["evaluation"], color="black", linestyle="--", linewidth=1.5)
        ax.set_yticks([])
        ax.text(0.12, 0.8, f"with {int(size) - 1} others", transform=ax.transAxes, fontsize=10)
        ax.spines["left"].set_visible(False)
    axes[-1].set_xlabel("probability of the right class")
    return figure
