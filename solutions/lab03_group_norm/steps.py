"""Reference answers for what only the notebook of lab 3 asks: the steps towards the layer, and the predictions.

The functions are one formula each, in grouped shape (N, G, m): one row of m values for each group of each sample. The layers
themselves stand in `solutions/reference/group_norm.py`; the predictions are computed by them, so that they cannot drift apart.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from solutions.reference.group_norm import GroupNorm, statistics_shape

PAGE = {"n": 8, "l": 16, "c": 32}  # the sizes of the page that this lab begins with; it has 4 groups


def to_groups(x: Tensor, num_groups: int) -> Tensor:
    """Return x (N, C, *) as (N, G, m): neighbouring channels together, with all of their space."""
    return x.reshape(x.shape[0], num_groups, -1)  # (N, G, m)


def group_statistics(grouped: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean and the biased variance of each group: (N, G, m) -> (N, G), (N, G)."""
    mean = grouped.mean(2)  # (N, G)
    return mean, (grouped - mean[..., None]).square().mean(2)  # (N, G), (N, G)


def normalize_groups(grouped: Tensor, mean: Tensor, var: Tensor, eps: float) -> Tensor:
    """Return x_hat = (x - mean) / sqrt(var + eps): grouped (N, G, m); mean, var (N, G) -> (N, G, m)."""
    return (grouped - mean[..., None]) / (var[..., None] + eps).sqrt()  # (N, G, m)


def from_groups(grouped: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Undo `to_groups`: (N, G, m) -> the shape (N, C, *) that x had."""
    return grouped.reshape(shape)


def scale_channels(x_hat: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return weight * x_hat + bias, one number per channel: x_hat (N, C, *); weight, bias (C,) -> (N, C, *)."""
    column = (-1, *[1] * (x_hat.dim() - 2))
    return weight.view(column) * x_hat + bias.view(column)


def group_backward_steps(grad_out: Tensor, x: Tensor, num_groups: int, weight: Tensor, eps: float) -> dict[str, Tensor]:
    """Return every intermediate of the backward pass, in the order in which the chain rule meets them; x (N, C, *)."""
    grouped = to_groups(x, num_groups)  # (N, G, m)
    m = grouped.shape[2]
    mean, var = group_statistics(grouped)  # (N, G), (N, G)
    s = (var + eps).sqrt()[..., None]  # (N, G, 1)
    centred = grouped - mean[..., None]  # (N, G, m)
    x_hat = centred / s
    upstream = grad_out * weight.view(-1, *[1] * (x.dim() - 2))  # (N, C, *): before anything is averaged
    grad_x_hat = to_groups(upstream, num_groups)  # (N, G, m)
    grad_var = (grad_x_hat * centred * -0.5 / s**3).sum(2)  # (N, G)
    grad_mean = -(grad_x_hat / s).sum(2) - 2 * grad_var * centred.mean(2)  # (N, G); the second term is 0
    grad_x = grad_x_hat / s + (grad_var[..., None] * 2 * centred + grad_mean[..., None]) / m  # (N, G, m)
    return {
        "mean": mean,
        "var": var,
        "x_hat": x_hat,
        "grad_x_hat": grad_x_hat,
        "grad_var": grad_var,
        "grad_mean": grad_mean,
        "grad_x": grad_x.reshape(x.shape),
    }


def _predictions() -> dict[str, float]:
    one, two, four = GroupNorm(1, 4), GroupNorm(2, 4), GroupNorm(4, 4)
    column = torch.tensor([[1.0, 3.0, 5.0, 7.0]])  # (1, 4)
    uneven = torch.tensor([[1.0, 3.0, 5.0, 105.0], [2.0, 4.0, 6.0, 8.0]])  # (2, 4)
    means = {
        f"predicted_means_{kind}": float(math.prod(statistics_shape(kind, **PAGE, num_groups=4)))
        for kind in ("batch", "layer", "token", "group")
    }
    return means | {
        "predicted_one_group": one(column)[0, 0].item(),
        "predicted_pairs": two(uneven)[0, 3].item(),
        "predicted_singles": four(uneven)[0, 3].item(),
    }


PREDICTIONS = _predictions()
