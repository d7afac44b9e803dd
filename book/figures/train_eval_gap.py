"""Test error during training: with stored statistics at three momenta, with the test batch's, and with precise ones."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from _record import record
from matplotlib.figure import Figure

LINES = {
    "0.01": ("stored, momentum 0.01", "#c2185b", "--s"),
    "0.1": ("stored, momentum 0.1", "#0b57d0", "-o"),
    "0.9": ("stored, momentum 0.9", "#2e7d32", "-.D"),
    "batch": ("of the test batch", "black", ":^"),
    "precise": ("precise", "#b26a00", "-x"),
}


def draw() -> Figure:
    """Draw mean and standard deviation over the seeds; one training gives all lines."""
    values = record("train_eval_gap")["values"]
    figure, ax = plt.subplots(figsize=(4.5, 4.4), layout="constrained")
    for key, (label, colour, style) in LINES.items():
        seen = np.array(values["errors"][key])  # (seeds, times)
        ax.errorbar(
            values["at"],
            seen.mean(0),
            seen.std(0, ddof=1),
            fmt=style,
            color=colour,
            markersize=5,
            capsize=2.5,
            linewidth=1.6,
            label=label,
        )
    ax.set_yscale("log")
    ax.set_yticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
    ax.minorticks_off()
    ax.set_xlabel("training steps")
    ax.set_ylabel("test error in %")
    figure.legend(fontsize=9.5, loc="outside lower center", ncols=2)
    return figure
