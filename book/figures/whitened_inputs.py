"""Gradient descent on a linear unit with two inputs: as they come, centred, and centred with one scale."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

STEPS = 40


def draw() -> Figure:
    """Draw contours of the loss around the best weights and the path from one start, at the best constant rate."""
    rng = np.random.default_rng(0)
    raw = np.array([2.0, 1.0]) + rng.standard_normal((500, 2)) * np.array([1.0, 0.35])
    centred = raw - raw.mean(0)
    kinds = {"as they come": raw, "centred": centred, "centred, scaled": centred / centred.std(0)}
    figure, axes = plt.subplots(3, 1, figsize=(4.5, 6.4), layout="constrained", sharex=True)
    side = np.linspace(-3.4, 3.4, 200)
    u, v = np.meshgrid(side, side * 0.5)
    for ax, (name, inputs) in zip(axes, kinds.items(), strict=True):
        second = inputs.T @ inputs / len(inputs)  # the curvature of the mean of squares / 2
        small, large = np.linalg.eigvalsh(second)
        loss = 0.5 * (second[0, 0] * u * u + 2 * second[0, 1] * u * v + second[1, 1] * v * v)
        ax.contour(u, v, loss / large, levels=[0.02, 0.1, 0.3, 0.7, 1.3, 2.2, 3.5], colors="#8a8a8a", linewidths=0.8)
        path = [np.array([-2.2, 0.5])]
        for _ in range(STEPS):
            path.append(path[-1] - 2 / (small + large) * second @ path[-1])
        line = np.array(path)
        ax.plot(line[:, 0], line[:, 1], "-o", color="#0b57d0", ms=3.5, lw=1)
        ax.plot([0], [0], "*", color="#c2185b", ms=11)
        near = int(np.argmax(np.linalg.norm(line, axis=1) < 0.03))
        after = f"{near} step{'s' * (near != 1)}" if near else f"not there after {STEPS} steps"
        ax.set_title(f"{name}: ratio {large / small:.0f}, {after}", fontsize=11, loc="left")
        ax.set_aspect("equal")
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_xlim(-3.4, 3.4)
        ax.set_ylim(-1.7, 1.7)
    return figure
