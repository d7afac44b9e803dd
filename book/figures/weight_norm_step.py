"""Weight norm in the plane: the gradient of the direction vector is tangent to its circle, so a step lengthens it."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Circle

V = torch.tensor([1.6, 1.2])  # length 2
DOWN = torch.tensor([-1.35, 0.45])  # minus the gradient with respect to w, at g = length
RATE = 1.0


def draw() -> Figure:
    """Draw v, its circle, minus the gradient of w, its part along v and its part across, and three steps."""
    unit = V / V.norm()
    along = (DOWN @ unit) * unit
    across = DOWN - along
    figure, ax = plt.subplots(figsize=(4.5, 4.2), layout="constrained")
    ax.add_patch(Circle((0, 0), V.norm().item(), fill=False, linestyle=":", color="#8a8a8a", linewidth=1.5))
    new = V + RATE * across

    def arrow(start: torch.Tensor, move: torch.Tensor, colour: str, width: float) -> None:
        ax.annotate(
            "",
            (start + move).tolist(),
            start.tolist(),
            arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": width, "shrinkA": 0, "shrinkB": 0},
        )

    zero = torch.zeros(2)
    arrow(zero, V, "black", 2.2)
    arrow(zero, new, "#2e7d32", 2.2)
    arrow(V, DOWN, "#8a8a8a", 1.4)
    arrow(V, across, "#0b57d0", 2.2)
    arrow(V, along, "#c2185b", 2.2)
    ax.text(0.95, 0.5, "v", fontsize=13, weight="bold")
    ax.text(0.24, 0.9, "v after the step", fontsize=10.5, color="#2e7d32", rotation=67, ha="center", va="center")
    ax.text(1.4, 1.75, "across: moves v", fontsize=10.5, color="#0b57d0")
    ax.text(1.33, 0.62, "along:\nmoves g", fontsize=10.5, color="#c2185b", va="center")
    ax.text(0.16, 1.45, "minus the\ngradient of w", fontsize=10.5, color="#6b6b6b", ha="right", va="center")
    ax.plot(0, 0, "o", color="black", markersize=5)
    ax.set_xlim(-0.85, 2.75)
    ax.set_ylim(-0.35, 2.6)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return figure
