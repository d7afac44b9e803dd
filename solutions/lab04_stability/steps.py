"""The predictions of lab 4, computed from plain means and variances, so that text and numbers cannot drift apart."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from solutions.lab04_stability.measure import leak, printed_stability, spread


def _normalized(x: Tensor) -> Tensor:
    """Batch norm of one feature with eps 0 and without weight and bias: x (m,) -> (m,)."""
    return (x - x.mean()) / x.var(correction=0).sqrt()


def _spread_of_two() -> float:
    """The spread of the output of x0 = 0 over four batches of two, with these companions."""
    outputs = [_normalized(torch.tensor([0.0, other]))[:1] for other in (-3.0, -0.2, 1.0, 40.0)]
    return spread(torch.stack(outputs))


def _leak_of_layer_norm() -> float:
    x = torch.tensor([[1.0, 2.0, 4.0], [3.0, -1.0, 0.0]])
    return leak(nn.LayerNorm(3), x, 0, 1, torch.tensor([1.0, -2.0, 0.5]))


def _scaled() -> float:
    """What the first version prints for four values that are a thousand times as large, and shifted by 50."""
    return _normalized(1000 * torch.tensor([1.0, 3.0, 5.0, 7.0]) + 50).std().item()


PREDICTIONS: dict[str, float] = {
    "predicted_printed": printed_stability(4),
    "predicted_printed_scaled": _scaled(),
    "predicted_spread_of_two": _spread_of_two(),
    "predicted_leak_layer_norm": _leak_of_layer_norm(),
}
