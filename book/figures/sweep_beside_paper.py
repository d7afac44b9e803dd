"""Batch norm and group norm against batch size: the table of Wu and He (2018), and this book's record below it."""

from __future__ import annotations

import matplotlib.pyplot as plt
from _record import record
from _style import STYLES
from batch_size_sweep import curve
from matplotlib.figure import Figure

SIZES = (2, 4, 8, 16, 32)
PAPER = {"batch norm": (34.7, 27.3, 24.8, 23.7, 23.6), "group norm": (24.1, 24.2, 24.0, 24.2, 24.1)}


def draw() -> Figure:
    """Draw one panel for each, with the same batch sizes; the paper's axis does not begin at zero."""
    errors = record("batch_size_sweep")["values"]["epochs"]
    figure, (paper, here) = plt.subplots(2, 1, figsize=(4.5, 5.2), layout="constrained", sharex=True)
    for norm, quoted in PAPER.items():
        colour, line, marker = STYLES[norm]
        paper.plot(SIZES, quoted, ls=line, marker=marker, color=colour, label=norm)
        curve(here, errors[norm], 0, ls=line, marker=marker, color=colour, label=norm)
    paper.set_title("ResNet-50, ImageNet (quoted)", fontsize=11, loc="left")
    paper.set_ylim(22, 36)
    paper.set_xscale("log", base=2)
    paper.set_xticks(SIZES, [str(size) for size in SIZES])
    paper.legend(fontsize=9.5)
    here.set_title("perceptron, digits (measured)", fontsize=11, loc="left")
    here.set_yscale("log")
    here.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    here.set_xlabel("images in a set of statistics")
    for ax in (paper, here):
        ax.minorticks_off()
        ax.set_ylabel("error in %")
    return figure
