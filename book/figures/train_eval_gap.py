"""Test error during training: with the running statistics of evaluation, and with the statistics of the batch."""

from __future__ import annotations

import copy

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from _digits import digits
from matplotlib.figure import Figure
from torch import Tensor, nn

AT = (5, 10, 15, 20, 30, 40, 60, 80, 100)
SEEDS = 3
STYLES = {"evaluation, momentum 0.01": ("#c2185b", "--s"), "evaluation, momentum 0.1": ("#0b57d0", "-o")}


def network(momentum: float) -> nn.Sequential:
    """Return three convolutions with batch norm and a linear read-out."""
    layers: list[nn.Module] = []
    for inputs, outputs, stride in ((1, 16, 1), (16, 32, 2), (32, 32, 2)):
        norm = nn.BatchNorm2d(outputs, momentum=momentum)
        layers += [nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), norm, nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


@torch.no_grad()
def errors(net: nn.Module, x: Tensor, y: Tensor) -> tuple[float, float]:
    """Return the error in per cent in evaluation mode and with batch statistics; the network stays as it is."""
    modes = (copy.deepcopy(net).eval(), copy.deepcopy(net).train())
    alone, together = (100 * n(x).argmax(1).ne(y).float().mean().item() for n in modes)
    return alone, together


def run(momentum: float, seed: int) -> list[tuple[float, float]]:
    """Train and return both errors at the chosen steps."""
    x, y, x_test, y_test = (part.view(-1, 1, 8, 8) if part.dim() == 2 else part for part in digits())
    torch.manual_seed(seed)
    net = network(momentum)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    seen = []
    for step in range(1, max(AT) + 1):
        batch = torch.randint(len(x), (64,))
        loss = F.cross_entropy(net(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in AT:
            seen.append(errors(net, x_test, y_test))
    return seen


def draw() -> Figure:
    """Draw the mean over the seeds; the same training gives all three lines but for the momentum."""
    figure, ax = plt.subplots(figsize=(4.5, 3.6), layout="constrained")
    for (label, (colour, style)), momentum in zip(STYLES.items(), (0.01, 0.1), strict=True):
        seen = torch.tensor([run(momentum, seed) for seed in range(SEEDS)]).mean(0)  # (times, 2)
        ax.plot(AT, seen[:, 0], style, color=colour, markersize=5, label=label)
    ax.plot(AT, seen[:, 1], ":^", color="black", markersize=5, label="statistics of the test batch")
    ax.set_ylim(0, None)
    ax.set_xlabel("training steps")
    ax.set_ylabel("test error in %")
    ax.legend(fontsize=9.5)
    return figure
