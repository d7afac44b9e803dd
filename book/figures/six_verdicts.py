"""Batch norm against no norm, six ways of asking which is better, every seed a mark; from the record learning_rates."""

from __future__ import annotations

import math
import statistics
from typing import Any

import matplotlib.pyplot as plt
from _record import record
from matplotlib.figure import Figure

STEPS = 160  # of a whole training: a run that did not reach the target took at least as many


def best(cells: dict[str, Any]) -> str:
    """Return the rate with the lowest mean held-out error."""
    return min(cells, key=lambda rate: statistics.fmean(cells[rate]["held out"]))


def fastest(cells: dict[str, Any]) -> str:
    """Return the rate at which the target is reached soonest on average; a run that never got there counts as slow."""
    return min(cells, key=lambda rate: statistics.fmean(s or 10_000 for s in cells[rate]["steps"]))


def draw() -> Figure:
    """Draw batch norm's number divided by no norm's, seed by seed, on a logarithmic axis."""
    errors = record("learning_rates")["values"]["he"]
    none, batch = errors["no norm"], errors["batch norm"]
    questions = [
        ("error at rate 0.01", "test", "0.01", "0.01"),
        ("steps to 10 % at rate 0.03", "steps", "0.03", "0.03"),
        ("error at rate 0.1", "test", "0.1", "0.1"),
        ("error at rate 1", "test", "1", "1"),
        ("error, each at its best rate", "test", best(none), best(batch)),
        ("steps, each at its fastest rate", "steps", fastest(none), fastest(batch)),
    ]
    figure, ax = plt.subplots(figsize=(4.5, 3.6), layout="constrained")
    for row, (question, what, rate_none, rate_batch) in enumerate(questions):
        pairs = list(zip(batch[rate_batch][what], none[rate_none][what], strict=True))
        ratios = [b / n for b, n in pairs if b is not None]
        late = [STEPS / n for b, n in pairs if b is None]
        middle = math.exp(statistics.fmean(map(math.log, ratios)))
        if max(ratios + late) < 1:
            colour, marker = "#0b57d0", "o"
        elif min(ratios) > 1:
            colour, marker = "#b26a00", "X"
        else:
            colour, marker = "#6a6a6a", "s"
        ax.plot(ratios, [row] * len(ratios), marker, color=colour, ms=7, alpha=0.6, mec="none")
        ax.plot(late, [row] * len(late), ">", color=colour, ms=8, mfc="none")
        ax.plot([middle] * 2, [row - 0.22, row + 0.22], color="black")
        ax.text(0.022, row - 0.3, question, fontsize=10)
    ax.axvline(1, color="black", lw=0.8, ls=":")
    ax.set_xscale("log")
    ax.set_xlim(0.02, 3)
    ax.set_ylim(len(questions) - 0.5, -0.9)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_xticks([0.02, 0.05, 0.1, 0.2, 0.5, 1, 2], ["0.02", "0.05", "0.1", "0.2", "0.5", "1", "2"])
    ax.minorticks_off()
    ax.set_xlabel("batch norm's number / the plain network's")
    ax.set_title("batch norm better  ←       → worse", fontsize=10, loc="right")
    return figure
