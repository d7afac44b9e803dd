"""Test error against depth for five kinds of network; reads the record, measures nothing."""

from __future__ import annotations

import statistics
from typing import Any

import matplotlib.pyplot as plt
from _record import record
from matplotlib.figure import Figure

LOOKS = {
    "plain": ("#8a8a8a", ":", "x"),
    "plain, batch norm": ("#0b57d0", ":", "o"),
    "skips": ("#8a8a8a", "-", "s"),
    "skips, batch norm": ("#0b57d0", "-", "o"),
    "skips, scale from zero": ("#b26a00", "--", "^"),
}


def chosen(by_rate: dict[str, Any]) -> list[float]:
    """Return the test errors at the rate that the held-out images chose."""
    best = min(by_rate, key=lambda rate: statistics.fmean(held for held, _ in by_rate[rate]))
    return [test for _, test in by_rate[best]]


def draw() -> Figure:
    """Draw mean and standard deviation over the seeds, both axes logarithmic."""
    values = record("depth_and_skips")["values"]
    figure, ax = plt.subplots(figsize=(4.5, 4), layout="constrained")
    for place, (kind, (colour, line, marker)) in enumerate(LOOKS.items()):
        depths = sorted(values[kind], key=int)
        found = [chosen(values[kind][depth]) for depth in depths]
        ax.errorbar(
            [int(depth) * 1.03 ** (place - 2) for depth in depths],  # side by side where they would cover one another
            [statistics.fmean(f) for f in found],
            [statistics.stdev(f) for f in found],
            fmt=line + marker,
            color=colour,
            capsize=3,
            label=kind,
            mfc=colour if line != ":" else "none",
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks([int(depth) for depth in depths], depths)
    ax.set_yticks([2, 5, 10, 20, 50, 90], ["2", "5", "10", "20", "50", "90"])
    ax.minorticks_off()
    ax.set_xlabel("blocks")
    ax.set_ylabel("test error in %")
    figure.legend(fontsize=9.5, loc="outside upper center", ncols=2)
    return figure
