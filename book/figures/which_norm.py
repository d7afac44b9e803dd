"""The decision chart of the summary: four questions that lead to a norm."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

# question, the answer that leads to the right, what stands there, its colour
STEPS = [
    ("tokens, or time steps?", "yes", "RMS or layer norm\nof the token", "#ffb870"),
    ("contrast a nuisance?", "yes", "instance norm", "#c9b3ff"),
    ("one example at a time, or\na gradient per example?", "yes", "group or layer norm", "#8fd694"),
    ("16 or more images a\ndevice, shuffled?", "no", "group norm; fine-tuning:\nfrozen batch norm", "#8fd694"),
]
LAST = ("batch norm;\nit folds away in use", "#7fb2ff")


def box(ax: plt.Axes, x: float, y: float, width: float, text: str, colour: str = "none") -> None:
    """Draw one box with its text in the middle."""
    style = "round,pad=0.02" if colour != "none" else "square,pad=0.02"
    ax.add_patch(FancyBboxPatch((x, y), width, 0.62, boxstyle=style, facecolor=colour, edgecolor="black"))
    ax.text(x + width / 2, y + 0.31, text, ha="center", va="center", fontsize=9.5, linespacing=1.25)


def draw() -> Figure:
    """Draw the questions downwards, the answers to the right."""
    figure, ax = plt.subplots(figsize=(4.6, 4.6), layout="constrained")
    arrow = {"arrowstyle": "-|>", "color": "black", "shrinkA": 0, "shrinkB": 0}
    for step, (question, answer, norm, colour) in enumerate(STEPS):
        y = -1.05 * step
        box(ax, 0, y, 2.3, question)
        box(ax, 3.0, y, 2.3, norm, colour)
        ax.annotate("", (2.97, y + 0.31), (2.33, y + 0.31), arrowprops=arrow)
        ax.text(2.65, y + 0.4, answer, ha="center", fontsize=9.5)
        ax.annotate("", (1.15, y - 0.40), (1.15, y - 0.03), arrowprops=arrow)
        ax.text(1.25, y - 0.26, "no" if answer == "yes" else "yes", fontsize=9.5)
    box(ax, 0, -1.05 * len(STEPS), 2.3, *LAST)
    ax.set_xlim(-0.1, 5.4)
    ax.set_ylim(-1.05 * len(STEPS) - 0.1, 0.75)
    ax.set_axis_off()
    return figure
