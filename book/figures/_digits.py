"""What several figures share: scikit-learn's digits, a small network, and the colours of the layers. It draws nothing."""

from __future__ import annotations

from collections.abc import Callable

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

torch.set_num_threads(1)  # matrices this small only lose by sharing

# colour, line, marker: never the colour alone
STYLES = {
    "no norm": ("#8a8a8a", ":", "x"),
    "batch norm": ("#0b57d0", "-", "o"),
    "layer norm": ("#b26a00", "--", "s"),
    "noisy batch norm": ("#c2185b", "-.", "^"),
    "batch renorm": ("#2e7d32", "-.", "v"),
}
MakeNorm = Callable[[int], nn.Module]


def digits() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return training images (1347, 64), training labels, test images (450, 64), test labels; one scale for all."""
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(images, labels, test_size=0.25, random_state=0, stratify=labels)
    x, x_test, y, y_test = (torch.tensor(part) for part in parts)
    mean, std = x.mean(), x.std()
    return ((x - mean) / std).float(), y, ((x_test - mean) / std).float(), y_test


def perceptron(norm: MakeNorm | None, depth: int = 5, width: int = 64) -> nn.Sequential:
    """Return linear - norm - ReLU, `depth` times, and a linear read-out; He's initialisation for all kinds."""
    layers: list[nn.Module] = []
    for k in range(depth):
        linear = nn.Linear(64 if k == 0 else width, width)
        nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
        nn.init.zeros_(linear.bias)
        layers += [linear, nn.Identity() if norm is None else norm(width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 10))


class NoisyBatchNorm(nn.BatchNorm1d):
    """Batch norm whose training output is moved and stretched at random, anew in each step: the mean is never still."""

    def forward(self, x: Tensor) -> Tensor:
        """Return s y + t, with t one shift per channel (and a little per sample) and s one stretch likewise."""
        y = super().forward(x)  # (N, C)
        if not self.training:
            return y
        shift = torch.rand_like(y[:1]) - 0.5 + 0.2 * (torch.rand_like(y) - 0.5)
        stretch = 1 + 0.25 * torch.rand_like(y[:1]) + 0.1 * torch.randn_like(y)
        return y * stretch + shift
