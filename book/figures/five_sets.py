"""The picture of the five cases: how each cuts one small tensor into sets; elements with one letter share a mean."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

SAMPLES, CHANNELS, POSITIONS, GROUPS = 2, 4, 3, 2
COLOURS = ("#7fb2ff", "#ffb870", "#8fd694", "#f2a0c8", "#c9b3ff", "#f5e27a")
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "|||")
Place = tuple[int, int, int]  # sample, channel, position


# title, what is counted, the number of a place's set
CASES: list[tuple[str, str, Callable[[Place], int]]] = [
    ("BN", "4 sets of 6", lambda p: p[1]),
    ("LN (L, C)", "2 sets of 12", lambda p: p[0]),
    ("LN (token)", "6 sets of 4", lambda p: p[0] * POSITIONS + p[2]),
    ("GN, 1 group", "2 sets of 12", lambda p: p[0]),
    ("GN, 2 groups", "4 sets of 6", lambda p: p[0] * GROUPS + p[1] // (CHANNELS // GROUPS)),
]


def draw_case(ax: Axes, title: str, count: str, number: Callable[[Place], int]) -> None:
    """Draw the samples side by side, channels down and positions across, and letter every element's set."""
    for n in range(SAMPLES):
        for c in range(CHANNELS):
            for p in range(POSITIONS):
                left, bottom = n * (POSITIONS + 0.3) + p, CHANNELS - 1 - c
                which = number((n, c, p))
                ax.add_patch(
                    Rectangle(
                        (left, bottom),
                        1,
                        1,
                        facecolor=COLOURS[which],
                        edgecolor="#00000055",
                        hatch=HATCHES[which],
                        lw=0,
                    )
                )
                ax.add_patch(Rectangle((left, bottom), 1, 1, fill=False, edgecolor="black", lw=0.6))
                ax.text(
                    left + 0.5,
                    bottom + 0.47,
                    "abcdef"[which],
                    ha="center",
                    va="center",
                    fontsize=11,
                    weight="bold",
                    bbox={"boxstyle": "round,pad=0.12", "facecolor": COLOURS[which], "edgecolor": "none"},
                )
    ax.set_xlim(-0.1, 2 * POSITIONS + 0.4)
    ax.set_ylim(-0.1, CHANNELS + 0.1)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_title(f"{title}: {count}", fontsize=10.5, pad=3)


def draw() -> Figure:
    """Draw the five cases, two in a row, and in the sixth place how to read them."""
    figure, axes = plt.subplots(3, 2, figsize=(4.6, 5.0), layout="constrained")
    for ax, case in zip(axes.flat, CASES, strict=False):
        draw_case(ax, *case)
    figure.get_layout_engine().set(wspace=0.12, hspace=0.05)
    legend = axes.flat[-1]
    legend.set_axis_off()
    legend.text(
        0.02,
        0.5,
        "block: a sample\nrow: a channel\ncolumn: a token\n\none letter,\none mean",
        fontsize=10.5,
        va="center",
        transform=legend.transAxes,
    )
    return figure
