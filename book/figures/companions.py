"""One image, one trained network, many batches: the probability of the right class, by the company it is kept in."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from _digits import STYLES, digits
from matplotlib.figure import Figure
from torch import Tensor, nn

STEPS, DRAWS, SIZES = 100, 400, (4, 16, 64)


def trained(x: Tensor, y: Tensor) -> nn.Sequential:
    """Return a small convolution net with batch norm, trained with batches of 64."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for inputs, outputs, stride in ((1, 16, 1), (16, 32, 2), (32, 32, 2)):
        layers += [nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(STEPS):
        batch = torch.randint(len(x), (64,))
        loss = F.cross_entropy(net(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net


@torch.no_grad()
def draw() -> Figure:
    """Draw one histogram per batch size, and the single value of evaluation mode as a line."""
    x, y, x_test, y_test = (part.view(-1, 1, 8, 8) if part.dim() == 2 else part for part in digits())
    with torch.enable_grad():
        net = trained(x, y)
    sure = net.eval()(x_test).softmax(1)[range(len(y_test)), y_test]
    one = int((sure - 0.9).abs().argmin())  # an image of which the network is fairly sure
    net.train()
    figure, axes = plt.subplots(len(SIZES), 1, figsize=(4.5, 4.6), sharex=True, layout="constrained")
    for ax, size in zip(axes, SIZES, strict=True):
        seen = []
        for _ in range(DRAWS):
            others = torch.randint(len(x_test), (size - 1,))
            batch = torch.cat([x_test[one : one + 1], x_test[others]])
            seen.append(net(batch).softmax(1)[0, y_test[one]].item())
        ax.hist(seen, bins=[k / 25 for k in range(26)], color=STYLES["batch norm"][0], alpha=0.8)
        ax.axvline(float(sure[one]), color="black", linestyle="--", linewidth=1.5)
        ax.set_yticks([])
        ax.text(0.12, 0.8, f"with {size - 1} others", transform=ax.transAxes, fontsize=10)
        ax.spines["left"].set_visible(False)
    axes[-1].set_xlabel("probability of the right class")
    return figure
