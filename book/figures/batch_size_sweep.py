"""Test error against batch size in a perceptron, as recorded by the experiment of the same name."""

from __future__ import annotations

import statistics
from typing import Any

import matplotlib.pyplot as plt
from _record import record
from _style import STYLES
from matplotlib.axes import Axes
from matplotlib.figure import Figure

ORDER = ("batch norm", "batch renorm", "layer norm", "group norm", "no norm")


def curve(ax: Axes, cells: dict[str, list[float]], place: float, **look: Any) -> None:
    """Draw mean and standard deviation over the seeds, moved a little aside so that bars do not hide each other."""
    sizes = [int(size) * 1.04**place for size in cells]
    means = [statistics.fmean(cell) for cell in cells.values()]
    ax.errorbar(sizes, means, [statistics.stdev(cell) for cell in cells.values()], ms=5, capsize=2, **look)


def dress(ax: Axes, sizes: list[int]) -> None:
    """Make both axes logarithmic, with plain numbers."""
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    ax.minorticks_off()


def draw() -> Figure:
    """Draw every norm in evaluation mode, and batch norm in training mode as well."""
    values = record("batch_size_sweep")["values"]
    figure, ax = plt.subplots(figsize=(4.5, 4.4), layout="constrained")
    for place, norm in enumerate(ORDER):
        colour, line, marker = STYLES[norm]
        curve(ax, values["epochs"][norm], place - 2, ls=line, marker=marker, color=colour, label=norm)
    together = {size: modes["test, training mode"] for size, modes in values["modes"].items()}
    colour, _, marker = STYLES["batch norm"]
    label = "batch norm, training mode"
    curve(ax, together, 0, ls=(0, (1, 2)), marker=marker, mfc="none", color=colour, label=label)
    dress(ax, [2, 4, 8, 16, 32])
    ax.set_xlabel("batch size")
    ax.set_ylabel("test error in %")
    ax.legend(fontsize=9.5)
    return figure
