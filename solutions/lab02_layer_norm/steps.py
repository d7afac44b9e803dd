"""Reference answers for what only the notebook of lab 2 asks: steps towards the layers, the backward pass taken apart, predictions.

The functions are one formula each. The layers themselves stand in `solutions/reference/layer_norm.py`; the predictions are
computed by them, so that they cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from solutions.reference.layer_norm import LayerNorm, RMSNorm, rms_norm_backward


def row_statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean and the biased variance of each row along the last axis: x (*, D) -> (*, 1), (*, 1)."""
    mean = x.mean(-1, keepdim=True)  # (*, 1)
    return mean, (x - mean).square().mean(-1, keepdim=True)  # (*, 1), (*, 1)


def as_shape(normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    """Return a normalized_shape as a tuple: 8 -> (8,); a list, a tuple or a torch.Size -> a tuple."""
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


def normalize_last(x: Tensor, k: int, eps: float) -> Tensor:
    """Return x_hat = (x - mean) / sqrt(var + eps), with the statistics over the last k axes."""
    over = tuple(range(-k, 0))
    centred = x - x.mean(over, keepdim=True)
    return centred / (centred.square().mean(over, keepdim=True) + eps).sqrt()


def layer_norm_steps(grad_out: Tensor, x: Tensor, weight: Tensor, eps: float) -> dict[str, Tensor]:
    """Return every intermediate of the backward pass, in the order in which the chain rule meets them; x (*, D)."""
    d = x.shape[-1]
    mean, var = row_statistics(x)  # (*, 1), (*, 1)
    s = (var + eps).sqrt()  # (*, 1)
    x_hat = (x - mean) / s  # (*, D)
    grad_x_hat = grad_out * weight  # (*, D)
    grad_var = (grad_x_hat * (x - mean)).sum(-1, keepdim=True) * -0.5 / s**3  # (*, 1)
    spread = 2 * grad_var * (x - mean).mean(-1, keepdim=True)  # (*, 1), zero on paper
    grad_mean = -grad_x_hat.sum(-1, keepdim=True) / s - spread  # (*, 1)
    grad_x = grad_x_hat / s + grad_var * 2 * (x - mean) / d + grad_mean / d  # (*, D)
    return {
        "mean": mean,
        "var": var,
        "x_hat": x_hat,
        "grad_x_hat": grad_x_hat,
        "grad_var": grad_var,
        "grad_mean": grad_mean,
        "grad_x": grad_x,
    }


def rms_norm_grad_x(grad_out: Tensor, x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Return the gradient of RMSNorm over the last axis with respect to x; x (*, D)."""
    return rms_norm_backward(grad_out, x, weight, eps)[0]


def _changed(layer: LayerNorm) -> float:
    """Tell how many of 6 output tokens of a sample change when its last input token does."""
    x = torch.arange(48.0).sin().reshape(1, 6, 8)
    other = x.clone()
    other[0, -1] = torch.arange(8.0).cos() * 3
    return float((layer(x) - layer(other)).abs().amax(-1).gt(1e-4).sum())


def _predictions() -> dict[str, float]:
    row = torch.tensor([[2.0, 4.0, 4.0, 10.0]])
    token, sample = LayerNorm(8), LayerNorm((6, 8))
    assert sample.weight is not None
    axes = {layer: len(layer.normalized_shape) for layer in (token, sample)}
    means = {layer: float(torch.zeros(4, 6, 8).flatten(-k)[..., 0].numel()) for layer, k in axes.items()}
    return {
        "predicted_output": LayerNorm(4)(row)[0, -1].item(),
        "predicted_rms_output": RMSNorm(4)(row)[0, -1].item(),
        "predicted_token_means": means[token],
        "predicted_sample_means": means[sample],
        "predicted_weights": float(sample.weight.numel()),
        "predicted_token_leak": _changed(token),
        "predicted_sample_leak": _changed(sample),
    }


PREDICTIONS = _predictions()
