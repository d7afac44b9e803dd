"""How much a layer's gradient changes when the layers below take their step: no norm, batch norm, layer norm."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from _record import record
from _style import STYLES
from matplotlib.figure import Figure


def draw() -> Figure:
    """Draw the median over layers and seeds, with the band that holds the middle half of them."""
    found = record("gradient_change")
    figure, ax = plt.subplots(figsize=(4.5, 3.7), layout="constrained")
    for name, runs in found["values"]["paths"].items():
        colour, line, marker = STYLES[name]
        seen = np.array(runs)  # (seeds, times, layers)
        steps = found["settings"]["every"] * np.arange(seen.shape[1])
        low, middle, high = np.quantile(seen, (0.25, 0.5, 0.75), axis=(0, 2))
        ax.fill_between(steps, low, high, color=colour, alpha=0.2, linewidth=0)
        ax.plot(steps, middle, line, marker=marker, markersize=4, color=colour, label=name)
    ax.set_ylim(0, None)
    ax.set_xlabel("training steps")
    ax.set_ylabel("relative change of the gradient")
    figure.legend(fontsize=9.5, loc="outside lower center", ncols=3)
    return figure
