"""Which of the six labs each older text became, with the points that its notebook holds."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

LABS = Path(__file__).parents[2] / "labs"
PRINTED = [
    ("printed lab 1\nbatch norm", 1),
    ("printed lab 2\nlayer norm", 2),
    ("five norms on\na page", 3),
    ("printed lab 3\nstability", 4),
    ("printed lab 4\neffects", 5),
    ("three lines on\nfurther norms", 6),
]
NAMES = {
    1: "Batch Normalization",
    2: "Layer Normalization",
    3: "Group Normalization",
    4: "Stability",
    5: "Effects in training",
    6: "Beyond batch norm",
}


def points(lab: int) -> int:
    """Return the points of a lab, summed over the graded cells of its notebook."""
    path = next(LABS.glob(f"lab0{lab}_*/*.ipynb"))
    cells = json.loads(path.read_text("utf8"))["cells"]
    about = [cell["metadata"].get("nbgrader", {}) for cell in cells]
    return int(sum(a["points"] for a in about if a.get("grade")))


def draw() -> Figure:
    """Draw two columns of boxes and an arrow in each row; what a printed lab tested is drawn hollow."""
    figure, ax = plt.subplots(figsize=(4.6, 4.6), layout="constrained")
    for row, (old, lab) in enumerate(PRINTED):
        y = -float(row)
        ax.add_patch(FancyBboxPatch((0, y), 1.9, 0.6, boxstyle="square,pad=0.05", facecolor="none", linestyle="--"))
        ax.text(0.95, y + 0.3, old, ha="center", va="center", fontsize=9.5, linespacing=1.2)
        ax.annotate("", (2.75, y + 0.3), (1.98, y + 0.3), arrowprops={"arrowstyle": "-|>", "color": "black"})
        ax.add_patch(FancyBboxPatch((2.85, y), 2.5, 0.6, boxstyle="round,pad=0.05", facecolor="#7fb2ff"))
        ax.text(
            4.1, y + 0.3, f"Lab {lab}: {NAMES[lab]}\n{points(lab)} points",
            ha="center", va="center", fontsize=9.5, linespacing=1.2,
        )  # fmt: skip
    ax.set_xlim(-0.1, 5.45)
    ax.set_ylim(-5.15, 0.7)
    ax.set_axis_off()
    return figure
