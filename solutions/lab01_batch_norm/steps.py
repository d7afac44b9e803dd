"""Reference answers for what only the notebook of lab 1 asks: the steps towards the layer, and the three predictions.

The functions are one formula each. The layers themselves stand in `solutions/reference/batch_norm.py`; the predictions are
computed by them, so that they cannot drift apart.
"""

from __future__ import annotations

import torch
from torch import Tensor

from solutions.reference.batch_norm import BatchNorm1d


def batch_statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean and the biased variance of each feature: x (N, C) -> (C,), (C,)."""
    mean = x.mean(0)  # (C,)
    return mean, (x - mean).square().mean(0)  # (C,), (C,)


def normalize(x: Tensor, mean: Tensor, var: Tensor, eps: float) -> Tensor:
    """Return x_hat = (x - mean) / sqrt(var + eps), x (N, C)."""
    return (x - mean) / (var + eps).sqrt()  # (N, C)


def updated_running(
    running_mean: Tensor, running_var: Tensor, mean: Tensor, var: Tensor, n: int, momentum: float
) -> tuple[Tensor, Tensor]:
    """Return the running statistics after a batch of n values: momentum weighs the new ones, var gets n / (n - 1)."""
    new_var = var * n / (n - 1)  # (C,), unbiased
    return (1 - momentum) * running_mean + momentum * mean, (1 - momentum) * running_var + momentum * new_var


def backward_steps(grad_out: Tensor, x: Tensor, weight: Tensor, eps: float) -> dict[str, Tensor]:
    """Return every intermediate of the backward pass, in the order in which the chain rule meets them; x (N, C)."""
    n = len(x)
    mean, var = batch_statistics(x)  # (C,), (C,)
    s = (var + eps).sqrt()  # (C,)
    x_hat = (x - mean) / s  # (N, C)
    grad_x_hat = grad_out * weight  # (N, C)
    grad_var = (grad_x_hat * (x - mean)).sum(0) * -0.5 / s**3  # (C,)
    grad_mean = -grad_x_hat.sum(0) / s - 2 * grad_var * (x - mean).mean(0)  # (C,); the second term is 0
    grad_x = grad_x_hat / s + grad_var * 2 * (x - mean) / n + grad_mean / n  # (N, C)
    return {
        "mean": mean,
        "var": var,
        "x_hat": x_hat,
        "grad_x_hat": grad_x_hat,
        "grad_var": grad_var,
        "grad_mean": grad_mean,
        "grad_x": grad_x,
    }


def _predictions() -> dict[str, float]:
    layer = BatchNorm1d(1)
    y = layer(torch.tensor([[1.0], [3.0], [5.0], [7.0]]))  # (4, 1)
    return {
        "predicted_output": y[0, 0].item(),
        "predicted_running_mean": layer.running_mean.item(),
        "predicted_running_var": layer.running_var.item(),
    }


PREDICTIONS = _predictions()
