"""Test error against the learning rate for four norms, as recorded by the experiment of the same name."""

from __future__ import annotations

import statistics

import matplotlib.pyplot as plt
from _record import record
from _style import STYLES
from matplotlib.figure import Figure


def draw() -> Figure:
    """Draw mean and standard deviation over the seeds, with He's start, both axes logarithmic."""
    errors = record("learning_rates")["values"]["he"]
    figure, ax = plt.subplots(figsize=(4.5, 3.8), layout="constrained")
    for place, (norm, cells) in enumerate(errors.items()):
        colour, line, marker = STYLES[norm]
        rates = [float(rate) * 1.06 ** (place - 1.5) for rate in cells]  # side by side, or the bars hide each other
        means = [statistics.fmean(cell["test"]) for cell in cells.values()]
        spreads = [statistics.stdev(cell["test"]) for cell in cells.values()]
        ax.errorbar(rates, means, spreads, ls=line, marker=marker, color=colour, ms=5, capsize=2, label=norm)
    ax.axhline(90, color="black", lw=0.8, ls=":")
    ax.text(0.003, 94, "guessing", va="bottom", fontsize=9.5)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(2, 135)
    ax.set_yticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
    ax.set_xticks([0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10], ["0.003", "0.01", "0.03", "0.1", "0.3", "1", "3", "10"])
    ax.tick_params(axis="x", labelsize=9.5)
    ax.minorticks_off()
    ax.set_xlabel("learning rate")
    ax.set_ylabel("test error in %")
    ax.legend(fontsize=9.5, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    return figure
