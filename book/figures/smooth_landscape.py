"""The range of losses met along the gradient's direction, during training: no norm, layer norm, batch norm."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from _digits import STYLES, MakeNorm, digits, perceptron
from matplotlib.figure import Figure
from torch import Tensor, nn

STEPS, EVERY, BATCH, RATE, SEEDS = 160, 8, 128, 0.1, 3
REACH = (0.5, 1.0, 2.0, 3.0, 4.0)  # step lengths looked at, in units of the learning rate
NORMS: dict[str, MakeNorm | None] = {"no norm": None, "layer norm": nn.LayerNorm, "batch norm": nn.BatchNorm1d}


def run(norm: MakeNorm | None, seed: int, x: Tensor, y: Tensor) -> list[float]:
    """Train; every few steps return the largest minus the smallest loss along the negative gradient."""
    torch.manual_seed(seed)
    net = perceptron(norm)
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    ranges = []
    for step in range(STEPS):
        batch = torch.randint(len(x), (BATCH,))
        loss = F.cross_entropy(net(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        if step % EVERY == 0:
            here = [p.detach().clone() for p in net.parameters()]
            kept = [b.clone() for b in net.buffers()]
            met = []
            with torch.no_grad():
                for reach in REACH:
                    for p, start in zip(net.parameters(), here, strict=True):
                        p.copy_(start - reach * RATE * p.grad)
                    met.append(F.cross_entropy(net(x[batch]), y[batch]).item())
                for p, start in zip(net.parameters(), here, strict=True):
                    p.copy_(start)
                for b, value in zip(net.buffers(), kept, strict=True):
                    b.copy_(value)
            ranges.append(max(met) - min(met))
        optimizer.step()
    return ranges


def draw() -> Figure:
    """Draw the median over the seeds and the band from least to most."""
    x, y, _, _ = digits()
    figure, ax = plt.subplots(figsize=(4.5, 3.4), layout="constrained")
    steps = range(0, STEPS, EVERY)
    for name, norm in NORMS.items():
        colour, line, marker = STYLES[name]
        seen = torch.tensor([run(norm, seed, x, y) for seed in range(SEEDS)])  # (seeds, times)
        ax.fill_between(steps, seen.amin(0), seen.amax(0), color=colour, alpha=0.2, linewidth=0)
        ax.semilogy(steps, seen.median(0).values, line, marker=marker, markersize=4, color=colour, label=name)
    ax.set_xlabel("training steps")
    ax.set_ylabel("range of the loss along the step")
    ax.legend(fontsize=9.5)
    return figure
