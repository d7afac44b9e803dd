"""What several experiments share: scikit-learn's digits, plain networks with any norm, and one way of training.

Every network is initialised in the same way whatever its norm (He et al. 2015), because a comparison with torch's
default for nn.Linear measures that default. It holds no experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import Tensor, nn

torch.set_num_threads(1)  # matrices this small only lose by sharing

MakeNorm = Callable[[int], nn.Module]
NORMS: dict[str, MakeNorm] = {
    "no norm": lambda width: nn.Identity(),
    "batch norm": nn.BatchNorm1d,
    "layer norm": nn.LayerNorm,
    "group norm": lambda width: nn.GroupNorm(width // 16, width),
}


def digits() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return training images (1347, 64), training labels, test images (450, 64), test labels; one scale for all."""
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split(images, labels, test_size=0.25, random_state=0, stratify=labels)
    x, x_test, y, y_test = (torch.tensor(part) for part in parts)
    mean, std = x.mean(), x.std()
    return ((x - mean) / std).float(), y, ((x_test - mean) / std).float(), y_test


def perceptron(norm: MakeNorm, depth: int = 5, width: int = 64) -> nn.Sequential:
    """Return linear - norm - ReLU, `depth` times, and a linear read-out."""
    layers: list[nn.Module] = []
    for k in range(depth):
        linear = nn.Linear(64 if k == 0 else width, width)
        nn.init.kaiming_normal_(linear.weight, nonlinearity="relu")
        nn.init.zeros_(linear.bias)
        layers += [linear, norm(width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 10))


def batches(count: int, batch: int, epochs: int) -> Iterator[Tensor]:
    """Give the indices of each batch; what is left over at the end of an epoch is left out."""
    for _ in range(epochs):
        yield from torch.randperm(count).split(batch)[: count // batch]


def step(net: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor) -> float:
    """Take one step and return the loss before it."""
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def error_percent(net: nn.Module, x: Tensor, y: Tensor) -> float:
    """Return the error in per cent, in the mode that the network is in; an output that is not finite is an error."""
    out = net(x)
    wrong = out.argmax(1).ne(y) | ~out.isfinite().all(1)
    return 100 * wrong.float().mean().item()
