"""Normalization from 2012 to 2025: when a layer was published, and what it takes its statistics from."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

KINDS = {
    "a batch": ("#0b57d0", "o"),
    "one sample": ("#b26a00", "s"),
    "the weights": ("#2e7d32", "^"),
    "nothing": ("#c2185b", "X"),
}
# year as a decimal from the month of the preprint, place of the label, name, kind
EVENTS = (
    (2012.9, 2012.9, "local response norm", "one sample"),
    (2015.1, 2015.1, "batch norm", "a batch"),
    (2016.12, 2015.9, "weight norm", "the weights"),
    (2016.5, 2016.5, "layer norm, instance norm", "one sample"),
    (2017.1, 2017.1, "batch renorm", "a batch"),
    (2018.2, 2018.1, "group norm", "one sample"),
    (2019.2, 2019.0, "weight standardization", "the weights"),
    (2019.8, 2019.65, "RMS norm", "one sample"),
    (2020.2, 2020.3, "PowerNorm", "a batch"),
    (2021.1, 2021.1, "NFNets: ResNets without a norm", "the weights"),
    (2025.2, 2024.95, "DyT: Transformers without a norm", "nothing"),
    (2025.95, 2025.7, "Derf", "nothing"),
)


def draw() -> Figure:
    """Draw time downwards, one mark per publication and its name beside it."""
    figure, ax = plt.subplots(figsize=(4.5, 5.6), layout="constrained")
    ax.plot([0, 0], [2012, 2026.3], color="black", lw=1)
    for year in range(2012, 2027, 2):
        ax.plot([-0.03, 0], [year, year], color="black", lw=1)
        ax.text(-0.05, year, str(year), ha="right", va="center", fontsize=10)
    shown = set()
    for when, place, name, kind in EVENTS:
        colour, marker = KINDS[kind]
        ax.plot([0, 0.13], [when, place], color=colour, lw=0.8)
        label = None if kind in shown else kind
        shown.add(kind)
        ax.plot([0], [when], marker, color=colour, ms=8, label=label, zorder=3)
        ax.text(0.15, place, name, va="center", fontsize=10.5)
    ax.set_xlim(-0.2, 1)
    ax.set_ylim(2026.4, 2011.7)
    ax.axis("off")
    ax.legend(
        fontsize=9.5,
        ncols=4,
        loc="upper center",
        bbox_to_anchor=(0.45, 0.0),
        title="statistics of ...",
        columnspacing=1,
    )
    return figure
