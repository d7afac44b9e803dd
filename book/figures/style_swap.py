"""One digit painted four ways, after instance norm, and with the channel statistics of another picture."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from torch import Tensor

Colour = tuple[float, float, float]
CONTENT, STYLE = 3, 8  # places in the data set: a three and an eight
PAINTS: list[tuple[str, Colour, Colour]] = [
    ("strong", (0.1, 0.2, 0.6), (0.7, 0.8, 0.9)),
    ("faint", (0.53, 0.56, 0.68), (0.71, 0.74, 0.77)),
    ("dark", (0.0, 0.02, 0.1), (0.25, 0.28, 0.3)),
    ("light ink", (0.8, 0.85, 0.9), (0.15, 0.2, 0.5)),
]


def paint(digit: Tensor, ink: Colour, paper: Colour) -> Tensor:
    """Return a picture (3, 8, 8) of a grey digit (8, 8) in two colours."""
    dark, light = torch.tensor(ink).view(3, 1, 1), torch.tensor(paper).view(3, 1, 1)
    return light + digit * (dark - light)


def moments(picture: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation of each channel, (3, 1, 1)."""
    return picture.mean((1, 2), keepdim=True), picture.std((1, 2), correction=0, keepdim=True)


def draw() -> Figure:
    """Draw a row as given, a row after instance norm, a row with the style picture's statistics."""
    grey = torch.tensor(load_digits().images).float() / 16
    given = [paint(grey[CONTENT], ink, paper) for _, ink, paper in PAINTS]
    style = paint(grey[STYLE], (0.5, 0.1, 0.0), (0.9, 0.7, 0.4))
    normal = [(picture - moments(picture)[0]) / moments(picture)[1] for picture in given]
    mean, std = moments(style)
    rows = [given, [0.5 + 0.2 * picture for picture in normal], [mean + std * picture for picture in normal]]
    figure, axes = plt.subplots(3, 5, figsize=(4.6, 3.2), layout="constrained")
    for ax in axes.flat:
        ax.set_axis_off()
    for row, pictures in zip(axes, rows, strict=True):
        for ax, picture in zip(row[1:], pictures, strict=True):
            ax.imshow(picture.permute(1, 2, 0).clamp(0, 1), interpolation="nearest")
    for ax, (name, _, _) in zip(axes[0, 1:], PAINTS, strict=True):
        ax.set_title(name, fontsize=9.5)
    axes[0, 0].text(0.5, 0.5, "given", ha="center", va="center", fontsize=9.5)
    axes[1, 0].text(0.5, 0.5, "instance\nnorm", ha="center", va="center", fontsize=9.5)
    axes[2, 0].imshow(style.permute(1, 2, 0), interpolation="nearest")
    axes[2, 0].set_title("style", fontsize=9.5)
    return figure
