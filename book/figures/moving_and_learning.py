"""The input of one activation over training, and the loss: no norm, batch norm, and batch norm with noise behind it."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from _digits import STYLES, MakeNorm, NoisyBatchNorm, digits, perceptron
from matplotlib.figure import Figure
from torch import Tensor, nn

STEPS, BATCH, RATE, UNIT = 120, 64, 0.1, 3
NORMS: dict[str, MakeNorm | None] = {
    "no norm": None,
    "batch norm": nn.BatchNorm1d,
    "noisy batch norm": NoisyBatchNorm,
}


def run(norm: MakeNorm | None, x: Tensor, y: Tensor) -> tuple[list[float], list[float]]:
    """Train once; return, per step, the loss and mean / std over the batch of what one unit of the last ReLU gets."""
    torch.manual_seed(0)
    net = perceptron(norm)
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE, momentum=0.9)
    means: list[float] = []

    def note(_module: nn.Module, args: tuple[Tensor, ...], _out: Tensor) -> None:
        received = args[0].detach()[:, UNIT]  # (N,)
        means.append((received.mean() / received.std()).item())

    net[-2].register_forward_hook(note)
    losses = []
    for _ in range(STEPS):
        batch = torch.randint(len(x), (BATCH,))
        loss = F.cross_entropy(net(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return means, losses


def draw() -> Figure:
    """Draw the mean above and the loss below, over the same steps."""
    x, y, _, _ = digits()
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(4.5, 5), sharex=True, layout="constrained")
    for name, norm in NORMS.items():
        colour, line, _ = STYLES[name]
        means, losses = run(norm, x, y)
        top.plot(means, line, color=colour, linewidth=1.6, label=name)
        smooth = torch.tensor(losses).unfold(0, 9, 1).mean(1)
        bottom.semilogy(range(4, STEPS - 4), smooth, line, color=colour, linewidth=1.8, label=name)
    top.set_ylabel("mean / std of one input")
    bottom.set_ylabel("training loss")
    bottom.set_xlabel("training steps")
    bottom.legend(fontsize=9.5)
    return figure
