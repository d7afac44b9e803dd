"""Operations per second against operations per byte on one core: what the record of the timings says."""

from __future__ import annotations

import statistics

import matplotlib.pyplot as plt
from _record import record
from _style import STYLES
from matplotlib.figure import Figure

# name in the record: (passes, operations an element, style, filled, label); counted as in the chapter
POINTS = {
    "ReLU": (2, 1, "no norm", False, "ReLU"),
    "BN, evaluation": (2, 2, "batch norm", False, "BN, evaluation"),
    "BN, forward": (3, 8, "batch norm", True, "BN, forward"),
    "BN, backward": (5, 11, "batch norm", None, "BN, backward"),
    "LN, forward": (2, 8, "layer norm", True, "LN, forward"),
    "LN, backward": (3, 13, "layer norm", None, "LN, backward"),
    "RMS, forward": (2, 4, "RMS norm", True, "RMS, forward"),
    "conv 3x3, forward": (2, 1152, "group norm", True, "convolution"),
}


def draw() -> Figure:
    """Draw the two roofs and the points below them."""
    values = record("memory_passes")["values"]
    count, ms = values["elements"], {name: statistics.fmean(times) for name, times in values["ms"].items()}
    bandwidth, peak = 8 * count / ms["copy"] / 1e6, values["product"] / ms["matrix product"] / 1e6
    figure, ax = plt.subplots(figsize=(4.5, 4.6), layout="constrained")
    ridge = peak / bandwidth
    ax.loglog([0.05, ridge, 500], [0.05 * bandwidth, peak, peak], color="black", linewidth=1.5)
    ax.text(0.45, 0.62 * bandwidth, "copy", fontsize=9.5, ha="right")
    ax.text(ridge * 1.2, peak * 1.2, "matrix product", fontsize=9.5)
    for name, (passes, work, style, filled, label) in POINTS.items():
        colour, _, marker = STYLES[style]
        face = colour if filled else "none"
        if filled is None:  # backward
            marker = {"o": "v", "s": "^"}[marker]
        rate = work * count / ms[name] / 1e6
        ax.plot(
            work / passes / 4, rate, marker, color=colour, mfc=face, markersize=9 if marker == "*" else 7, label=label
        )
    ax.set_xlim(0.05, 500)
    ax.set_ylim(top=peak * 3)
    ax.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    ax.minorticks_off()
    ax.set_xlabel("operations per byte, counted")
    ax.set_ylabel("10⁹ operations a second, measured")
    figure.legend(fontsize=9.5, loc="outside lower center", ncols=2)
    return figure
