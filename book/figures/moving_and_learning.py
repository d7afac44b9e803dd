"""The input of one activation over training, and the loss: no norm, batch norm, and batch norm with noise behind it."""

from __future__ import annotations

import matplotlib.pyplot as plt
from _record import record
from _style import STYLES
from matplotlib.figure import Figure

SMOOTH = 9  # steps that one point of the loss is the mean of


def draw() -> Figure:
    """Draw the mean above and the loss below, over the same steps: the first seed of the experiment."""
    kinds = record("noisy_batch_norm")["values"]["relu_0.1"]
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(4.5, 5), sharex=True, layout="constrained")
    for name in ("no norm", "batch norm", "noisy batch norm"):
        colour, line, _ = STYLES[name]
        first = kinds[name][0]
        top.plot(first["path"], line, color=colour, linewidth=1.6, label=name)
        losses = first["losses"]
        smooth = [sum(losses[k : k + SMOOTH]) / SMOOTH for k in range(len(losses) - SMOOTH + 1)]
        centre = range(SMOOTH // 2, SMOOTH // 2 + len(smooth))
        bottom.semilogy(centre, smooth, line, color=colour, linewidth=1.8, label=name)
    top.set_ylabel("mean / std of one input")
    bottom.set_ylabel("training loss")
    bottom.set_xlabel("training steps")
    bottom.legend(fontsize=9.5)
    return figure
