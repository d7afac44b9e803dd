"""What each block of a residual network adds, against what passes by it, before any training."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from _record import record
from _style import STYLES
from matplotlib.figure import Figure

LABELS = {
    "no norm": ("no norm", STYLES["no norm"]),
    "batch norm": ("batch norm in the branch", STYLES["batch norm"]),
    "layer norm": ("layer norm in the branch", STYLES["layer norm"]),
    "layer norm behind": ("layer norm behind the sum", ("#6a3fb5", "-.", "D")),
}


def draw() -> Figure:
    """Draw branch over stream above and the stream below; bands from least to most over the seeds."""
    values = record("residual_branches")["values"]
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(4.5, 5.6), sharex=True, layout="constrained")
    for place, (kind, (label, (colour, line, marker))) in enumerate(LABELS.items()):
        for ax, what in ((top, "ratio"), (bottom, "stream")):
            runs = np.array([seed[what] for seed in values[kind]])
            blocks = np.arange(1, runs.shape[1] + 1)
            middle = np.exp(np.log(runs).mean(0))
            ax.semilogy(
                blocks, middle, line + marker, color=colour, markersize=5, markevery=(3 + 2 * place, 8), label=label
            )
            ax.fill_between(blocks, runs.min(0), runs.max(0), color=colour, alpha=0.2, linewidth=0)
    top.plot(blocks, 1 / blocks, color="black", linewidth=0.9, label="1/k")
    bottom.plot(blocks, 2.0**blocks, color="black", linewidth=0.9)
    bottom.plot(blocks, 1.0 + blocks, color="black", linewidth=0.9)
    bottom.text(24, 2.0**33, "2 to the k", fontsize=9.5, ha="right")
    bottom.text(38, 300, "1 + k", fontsize=9.5)
    top.set_ylabel("branch power / stream power")
    bottom.set_ylabel("power of the stream")
    bottom.set_xlabel("block k")
    figure.legend(*top.get_legend_handles_labels(), fontsize=9.5, loc="outside lower center", ncols=2)
    return figure
