"""Test error against width for four choices of what is trained; reads the record, measures nothing."""

from __future__ import annotations

import statistics

import matplotlib.pyplot as plt
from _record import record
from depth_and_skips import chosen
from matplotlib.figure import Figure

LOOKS = {
    "everything": ("#8a8a8a", "-", "s"),
    "scales and shifts": ("#0b57d0", "-", "o"),
    "as many weights": ("#b26a00", "--", "^"),
    "read-out only": ("#00796b", ":", "D"),
}


def draw() -> Figure:
    """Draw mean and standard deviation over the seeds, both axes logarithmic."""
    values = record("affine_only")["values"]
    figure, ax = plt.subplots(figsize=(4.5, 3.6), layout="constrained")
    for kind, (colour, line, marker) in LOOKS.items():
        widths = sorted(values[kind], key=int)
        found = [chosen(values[kind][width]) for width in widths]
        ax.errorbar(
            [int(width) for width in widths],
            [statistics.fmean(f) for f in found],
            [statistics.stdev(f) for f in found],
            fmt=line + marker,
            color=colour,
            capsize=3,
            label=kind,
        )
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks([int(width) for width in widths], widths)
    ax.set_yticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
    ax.minorticks_off()
    ax.set_xlabel("units in each of three layers")
    ax.set_ylabel("test error in %")
    figure.legend(title="trained", fontsize=9.5, title_fontsize=9.5, loc="outside upper center", ncols=2)
    return figure
