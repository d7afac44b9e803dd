"""The running mean under three momenta: how it starts, how much it shakes, how long it remembers its start."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure

TRUE_MEAN, BATCH, STEPS = 3.0, 8, 120
STYLES = {0.9: ("#c2185b", ":"), 0.1: ("#0b57d0", "-"), 0.01: ("#2e7d32", "--")}


def draw() -> Figure:
    """Draw the path of running_mean over the steps, and below it the weight left on the starting value."""
    generator = torch.Generator().manual_seed(0)
    batches = TRUE_MEAN + torch.randn(STEPS, BATCH, generator=generator, dtype=torch.float64)
    means = batches.mean(1)  # (STEPS,)
    steps = range(STEPS + 1)
    figure, (path, memory) = plt.subplots(
        2, 1, figsize=(4.5, 5), sharex=True, height_ratios=[3, 2], layout="constrained"
    )
    path.plot(steps[1:], means, ".", color="#8a8a8a", markersize=4, label="mean of one batch")
    for momentum, (colour, line) in STYLES.items():
        running = [0.0]
        for mean in means.tolist():
            running.append((1 - momentum) * running[-1] + momentum * mean)
        path.plot(steps, running, line, color=colour, linewidth=2, label=f"momentum {momentum}")
        memory.semilogy(steps, [(1 - momentum) ** t for t in steps], line, color=colour, linewidth=2)
    path.axhline(TRUE_MEAN, color="black", linewidth=0.8)
    path.set_ylabel("running mean")
    path.legend(fontsize=9.5, loc="lower right")
    memory.set_ylim(1e-3, 1.5)
    memory.set_ylabel("weight of the start")
    memory.set_xlabel("training steps")
    return figure
