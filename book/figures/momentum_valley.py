"""Test error in evaluation mode against the momentum of the running statistics, after three numbers of steps."""

from __future__ import annotations

import matplotlib.pyplot as plt
from _bars import mean_and_deviation
from _record import record
from matplotlib.figure import Figure

STYLES = (("#c2185b", ":", "s"), ("#b26a00", "--", "^"), ("#0b57d0", "-", "o"))


def draw() -> Figure:
    """Draw mean and standard deviation over the seeds on logarithmic axes."""
    seen = record("momentum_choice")
    momenta = seen["settings"]["momenta"]
    figure, ax = plt.subplots(figsize=(4.5, 3.8), layout="constrained")
    for (check, rows), look in zip(seen["values"].items(), STYLES, strict=True):
        mean_and_deviation(ax, momenta, rows, look, f"{check} steps")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_yticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
    ax.set_xticks([0.001, 0.01, 0.1, 1], ["0.001", "0.01", "0.1", "1"])
    ax.set_xlabel("momentum (weight of the new value)")
    ax.set_ylabel("test error in %, evaluation mode")
    ax.legend(fontsize=9.5)
    return figure
