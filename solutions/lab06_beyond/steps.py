"""Reference answers for what only the notebook of lab 6 asks: the steps, the two equalities, the predictions, WN's backward.

The functions are one formula each. The layers themselves stand in `solutions/reference/`; the predictions are computed by them,
so that they cannot drift apart.
"""

from __future__ import annotations

import torch
from torch import Tensor

from solutions.reference.batch_renorm import BatchRenorm1d
from solutions.reference.weight_norm import WeightNormLinear, weight_norm_backward


def batch_statistics(x: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Return the mean and sigma = sqrt(biased variance + eps) of each feature: x (N, C) -> (C,), (C,)."""
    mean = x.mean(0)  # (C,)
    return mean, ((x - mean).square().mean(0) + eps).sqrt()  # (C,), (C,)


def correction(
    mean: Tensor, sigma: Tensor, running_mean: Tensor, running_std: Tensor, r_max: float, d_max: float
) -> tuple[Tensor, Tensor]:
    """Return r and d, (C,) each: how the batch differs from what is remembered, clipped."""
    r = (sigma / running_std).clamp(1 / r_max, r_max)  # (C,)
    return r, ((mean - running_mean) / running_std).clamp(-d_max, d_max)  # (C,), (C,)


def corrected(x: Tensor, mean: Tensor, sigma: Tensor, r: Tensor, d: Tensor) -> Tensor:
    """Return x_hat = (x - mean) / sigma * r + d, x (N, C)."""
    return (x - mean) / sigma * r + d  # (N, C)


def updated_running(
    running_mean: Tensor, running_std: Tensor, mean: Tensor, sigma: Tensor, momentum: float
) -> tuple[Tensor, Tensor]:
    """Return the running mean and the running standard deviation after a batch: momentum weighs the new ones."""
    return running_mean + momentum * (mean - running_mean), running_std + momentum * (sigma - running_std)


def evaluated(x: Tensor, running_mean: Tensor, running_std: Tensor) -> Tensor:
    """Return what evaluation gives, (x - running_mean) / running_std; eps is inside running_std already."""
    return (x - running_mean) / running_std  # (N, C)


def as_batch_norm(x: Tensor, running_mean: Tensor, running_std: Tensor, eps: float) -> Tensor:
    """Return the corrected x_hat under the limits that leave batch norm: r_max = 1 and d_max = 0."""
    mean, sigma = batch_statistics(x, eps)
    return corrected(x, mean, sigma, *correction(mean, sigma, running_mean, running_std, 1.0, 0.0))


def limits_for_evaluation(x: Tensor, running_mean: Tensor, running_std: Tensor, eps: float) -> tuple[float, float]:
    """Return the smallest r_max and d_max that clip nothing, so that training gives what evaluation gives."""
    mean, sigma = batch_statistics(x, eps)
    r = sigma / running_std  # (C,)
    d = (mean - running_mean) / running_std  # (C,)
    return torch.maximum(r, 1 / r).max().item(), d.abs().max().item()


def wn_backward_steps(grad_out: Tensor, x: Tensor, weight_g: Tensor, weight_v: Tensor) -> dict[str, Tensor]:
    """Return every intermediate of weight norm's backward pass: grad_out (N, out), x (N, in), g (out, 1), v (out, in)."""
    length = weight_v.square().sum(1, keepdim=True).sqrt()  # (out, 1)
    grad_weight = grad_out.mT @ x  # (out, in)
    grad_g, grad_v = weight_norm_backward(grad_weight, weight_g, weight_v)
    return {
        "length": length,
        "weight": weight_g * weight_v / length,
        "grad_weight": grad_weight,
        "grad_g": grad_g,
        "grad_v": grad_v,
    }


def _predictions() -> dict[str, float]:
    layer = BatchRenorm1d(1)
    layer.running_mean.fill_(2.0)
    layer.running_std.fill_(2.0)
    x = torch.tensor([[1.0], [3.0], [5.0], [7.0]])  # (4, 1)
    mean, sigma = batch_statistics(x, layer.eps)
    r, d = correction(mean, sigma, layer.running_mean, layer.running_std, layer.r_max, layer.d_max)
    first = layer(x)[0, 0].item()

    linear = WeightNormLinear(2, 1)
    with torch.no_grad():
        linear.weight_v.copy_(torch.tensor([[3.0, 4.0]]))
        linear.weight_g.fill_(10.0)
        linear.weight_v.sub_(weight_norm_backward(torch.tensor([[1.0, 0.0]]), linear.weight_g, linear.weight_v)[1])
    return {
        "predicted_r": r.item(),
        "predicted_d": d.item(),
        "predicted_output": first,
        "predicted_row_norm": linear.weight.norm().item(),
    }


PREDICTIONS = _predictions()
