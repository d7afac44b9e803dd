"""What the experiments with convolutions share: digits as images, a small network, precise statistics. No experiment."""

from __future__ import annotations

import copy

import torch
from _digits import MakeNorm, digits, step
from torch import Tensor, nn

Data = tuple[Tensor, Tensor, Tensor, Tensor]


def images() -> Data:
    """Return training images (1347, 1, 8, 8), labels, test images (450, 1, 8, 8), labels."""
    x, y, x_test, y_test = digits()
    return x.view(-1, 1, 8, 8), y, x_test.view(-1, 1, 8, 8), y_test


def conv_net(norm: MakeNorm, width: int = 32) -> nn.Sequential:
    """Return three times convolution - norm - ReLU (maps 8 x 8, 4 x 4, 2 x 2), pooling and a linear read-out."""
    layers: list[nn.Module] = []
    for inputs, outputs, stride in ((1, width // 2, 1), (width // 2, width, 2), (width, width, 2)):
        conv = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
        layers += [conv, norm(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


def train(net: nn.Module, x: Tensor, y: Tensor, updates: int, batch: int, rate: float) -> None:
    """Train with SGD and momentum on batches drawn with replacement."""
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    for _ in range(updates):
        pick = torch.randint(len(x), (batch,))
        step(net, optimizer, x[pick], y[pick])


@torch.no_grad()
def refreshed(net: nn.Module, x: Tensor, batch: int = 64) -> nn.Module:
    """Return a copy in evaluation mode whose statistics are the plain average over the batches of one pass over x."""
    net = copy.deepcopy(net).train()
    for layer in net.modules():
        if isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d):
            layer.momentum = None  # the cumulative average
            layer.reset_running_stats()
    for part in x[torch.randperm(len(x))].split(batch)[: len(x) // batch]:
        net(part)
    return net.eval()
