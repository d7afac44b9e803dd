"""The three predictions of lab 5, computed by the reference functions, so that they cannot drift apart."""

from __future__ import annotations

import torch
from torch import nn

from solutions.lab05_normalization_effects.measure import drift
from solutions.lab05_normalization_effects.measure_modes import gradient_change, reestimate


def _column(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers).unsqueeze(1)  # (n, 1)


def _predictions() -> dict[str, float]:
    moved, _ = drift([(_column(2.0, 5.0), _column(2.0, 1.0))])  # (1, 1)
    layer = nn.BatchNorm1d(1)
    reestimate(layer, [_column(1.0, 3.0), _column(5.0, 7.0, 9.0)])
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))
    change = gradient_change(net, torch.ones(4, 2), torch.tensor([0, 1, 0, 1]), layer=0, lr=0.1)
    assert layer.running_var is not None
    return {
        "predicted_shift": moved.item(),
        "predicted_running_var": layer.running_var.item(),
        "predicted_first_change": change["change"],
    }


PREDICTIONS = _predictions()
