"""Test error against batch size, with as many updates for each: batch norm twice, layer norm, batch renorm."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from _digits import STYLES, MakeNorm, digits, perceptron
from matplotlib.figure import Figure
from torch import Tensor, nn

SIZES, UPDATES, SEEDS = (2, 4, 8, 16, 32), 300, 3


class Renorm(nn.Module):
    """Batch renormalization, limits widened over the first half of training; here only to be drawn."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))
        self.centre, self.spread, self.seen = torch.zeros(channels), torch.ones(channels), 0

    def forward(self, x: Tensor) -> Tensor:
        """Correct the batch's statistics towards the remembered ones, as far as the limits allow."""
        if not self.training:
            return (x - self.centre) / self.spread * self.weight + self.bias
        mu, s = x.mean(0), (x.var(0, correction=0) + 1e-5).sqrt()
        open_ = min(1.0, max(0.0, (self.seen - 50) / 100))
        with torch.no_grad():
            stretch = (s / self.spread).clamp(1 / (1 + 2 * open_), 1 + 2 * open_)
            shift = ((mu - self.centre) / self.spread).clamp(-5 * open_, 5 * open_)
            self.centre, self.spread = self.centre.lerp(mu, 0.05), self.spread.lerp(s, 0.05)
        self.seen += 1
        return ((x - mu) / s * stretch + shift) * self.weight + self.bias


def run(norm: MakeNorm, size: int, seed: int, data: tuple[Tensor, ...]) -> tuple[float, float]:
    """Return the test error in per cent in evaluation mode, and in training mode with batches of the same size."""
    x, y, x_test, y_test = data
    torch.manual_seed(seed)
    net = perceptron(norm, depth=3)
    rate = 0.1 * size / 32
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    for step in range(UPDATES):
        optimizer.param_groups[0]["lr"] = rate * 0.5 * (1 + math.cos(math.pi * step / UPDATES))
        batch = torch.randint(len(x), (size,))
        loss = F.cross_entropy(net(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    whole = len(x_test) // size * size
    with torch.no_grad():
        alone = net.eval()(x_test).argmax(1).ne(y_test)
        together = torch.cat([net.train()(part) for part in x_test[:whole].split(size)]).argmax(1).ne(y_test[:whole])
    return 100 * alone.float().mean().item(), 100 * together.float().mean().item()


def draw() -> Figure:
    """Draw mean and standard deviation over the seeds, both axes logarithmic."""
    data = digits()
    figure, ax = plt.subplots(figsize=(4.5, 4), layout="constrained")
    norms: dict[str, MakeNorm] = {"batch norm": nn.BatchNorm1d, "layer norm": nn.LayerNorm, "batch renorm": Renorm}
    for name, norm in norms.items():
        colour, line, marker = STYLES[name]
        seen = torch.tensor([[run(norm, size, seed, data) for seed in range(SEEDS)] for size in SIZES])
        mean, spread = seen.mean(1), seen.std(1)  # (sizes, 2)
        ax.errorbar(SIZES, mean[:, 0], spread[:, 0], fmt=line + marker, color=colour, capsize=3, label=name)
        if name == "batch norm":
            label = "batch norm, training mode"
            ax.errorbar(
                SIZES, mean[:, 1], spread[:, 1], fmt=":" + marker, color=colour, mfc="none", capsize=3, label=label
            )
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks(SIZES, [str(size) for size in SIZES])
    ax.set_yticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
    ax.minorticks_off()
    ax.set_xlabel("batch size")
    ax.set_ylabel("test error in %")
    ax.legend(fontsize=9.5)
    return figure
