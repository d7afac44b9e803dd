"""The picture "which numbers share a mean": the set S of one element of an (N, C, L) tensor, per layer."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

SAMPLES, CHANNELS, LENGTH, GROUPS = 3, 4, 4, 2
CHOSEN = (1, 1, 2)  # sample, channel, position
Place = tuple[int, int, int]


def group(channel: int) -> int:
    """Return the group of a channel: blocks of neighbours, not every second one."""
    return channel // (CHANNELS // GROUPS)


# title, size of the set, hatch, colour, whether a place shares the chosen element's set
PANELS: list[tuple[str, str, str, str, Callable[[Place], bool]]] = [
    ("Batch norm", "N·L = 12", "///", "#7fb2ff", lambda p: p[1] == CHOSEN[1]),
    ("Layer norm (C, L)", "C·L = 16", "\\\\\\", "#ffb870", lambda p: p[0] == CHOSEN[0]),
    ("Layer norm, token", "C = 4", "xxx", "#f2a0c8", lambda p: p[0] == CHOSEN[0] and p[2] == CHOSEN[2]),
    ("Instance norm", "L = 4", "|||", "#c9b3ff", lambda p: p[:2] == CHOSEN[:2]),
    (
        "Group norm, G = 2",
        "(C/G)·L = 8",
        "...",
        "#8fd694",
        lambda p: p[0] == CHOSEN[0] and group(p[1]) == group(CHOSEN[1]),
    ),
    ("Batch norm, evaluation", "stored numbers, no set", "", "none", lambda p: False),
]


def draw_panel(ax: Axes, title: str, size: str, hatch: str, colour: str, shares: Callable[[Place], bool]) -> None:
    """Draw the samples as matrices, channels down and positions across, and mark one set."""
    for n in range(SAMPLES):
        for c in range(CHANNELS):
            for p in range(LENGTH):
                corner = (n * (LENGTH + 1) + p, CHANNELS - 1 - c)
                inside = shares((n, c, p))
                ax.add_patch(
                    Rectangle(
                        corner,
                        1,
                        1,
                        facecolor=colour if inside else "none",
                        edgecolor="black" if inside else "#8a8a8a",
                        hatch=hatch if inside else "",
                        linewidth=0.9 if inside else 0.5,
                        zorder=2 if inside else 1,
                    )
                )
                if (n, c, p) == CHOSEN:
                    ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="black", linewidth=3, zorder=3))
    ax.set_xlim(-0.3, SAMPLES * (LENGTH + 1) - 0.7)
    ax.set_ylim(-0.3, CHANNELS + 0.3)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_title(f"{title}\n{size}", fontsize=10.5, pad=3)


def draw() -> Figure:
    """Draw the six panels, two in a row, so that a phone shows them at a legible size."""
    figure, axes = plt.subplots(3, 2, figsize=(4.5, 4.1), layout="constrained")
    for ax, panel in zip(axes.flat, PANELS, strict=True):
        draw_panel(ax, *panel)
    figure.supxlabel("one block per sample; channels down, positions across", fontsize=10)
    return figure
