"""Group normalization and instance normalization, written to be read, and their backward pass by hand.

This file is the truth that the course compares with. It is not fast, it keeps no
statistics (training and evaluation are the same thing), and it calls no normalization
of torch: every line is a mean, a sum or a product. The C channels of a sample are cut
into G groups of C / G NEIGHBOURS; each set of values that is normalized together is one
group of one sample, with all of its space:

    layer            input             the sets           values per set m
    GroupNorm(G, C)  (N, C)            (N, G)             C / G
    GroupNorm(G, C)  (N, C, *)         (N, G)             C / G * (product of *)
    InstanceNorm2d   (N, C, H, W)      (N, C)             H * W

    mu = (1/m) sum x,   v = (1/m) sum (x - mu)^2,   y = weight (x - mu) / sqrt(v + eps) + bias

weight and bias have one value per CHANNEL, so weight may differ inside a group. G = 1 is
a LayerNorm over (C, *) but for the shape of weight and bias; G = C is instance norm.

What torch.nn leaves open is decided here:

* Statistics are computed in float32 or better (float16 and bfloat16 are widened first),
  v from the differences, never as E[x^2] - E[x]^2. The mean of the differences is taken
  away as well, because a rounded mean is not the mean: equal values come out as the bias.
* x may be wider than the parameters; the output has the dtype of x in any case.
* C not divisible by G (in the constructor), fewer than 2 axes, another C and a dtype that
  is not floating raise ValueError; torch's InstanceNorm2d accepts another C.
* A group of one value comes out as its bias. As in torch, a single sample of such groups
  raises ValueError, and InstanceNorm2d does so whenever H * W is 1.
* InstanceNorm2d takes (N, C, H, W) alone, not torch's (C, H, W), and tracks nothing.

Sources: Y. Wu and K. He, "Group Normalization", ECCV 2018, equations 1, 2, 6, 7;
D. Ulyanov, A. Vedaldi and V. Lempitsky, "Instance Normalization", 2016, section 2.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["GroupNorm", "InstanceNorm2d", "group_norm_backward", "statistics_shape"]


class _PerChannelAffine(nn.Module):
    """What the two layers share: groups of neighbouring channels, and a weight and a bias per channel."""

    weight: nn.Parameter | None
    bias: nn.Parameter | None

    def __init__(self, num_groups: int, num_channels: int, eps: float, affine: bool) -> None:
        super().__init__()
        _check_groups(num_groups, num_channels)
        self.eps = eps
        self.affine = affine
        # Registering None keeps the name and leaves it out of the state dict, as torch does.
        self.register_parameter("weight", nn.Parameter(torch.ones(num_channels)) if affine else None)
        self.register_parameter("bias", nn.Parameter(torch.zeros(num_channels)) if affine else None)

    def _normalize(self, x: Tensor, num_groups: int) -> Tensor:
        x_hat, _ = _standardized(_at_least_float32(x), num_groups, self.eps)  # (N, G, m)
        y = x_hat.reshape(x.shape)  # (N, C, *)
        if self.weight is not None and self.bias is not None:
            y = y * _column(self.weight.to(y.dtype), x.dim()) + _column(self.bias.to(y.dtype), x.dim())
        return y.to(x.dtype)


class GroupNorm(_PerChannelAffine):
    """Normalize each group of neighbouring channels of each sample, then scale and shift each channel.

    Formula: y = weight (x - mu) / sqrt(v + eps) + bias, mu and the biased v over one group
    of C / G channels and all of space. Input (N, C, *), output of the same shape and dtype.
    Parameters weight (ones), bias (zeros): (C,), or None without affine. ValueError: see the module.
    """

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True) -> None:
        super().__init__(num_groups, num_channels, eps, affine)
        self.num_groups = num_groups
        self.num_channels = num_channels

    def forward(self, x: Tensor) -> Tensor:
        """Normalize x; see the class for the formula, the shapes and the errors."""
        _check_input(x, self.num_channels, "GroupNorm", "(N, C, *)", x.dim() >= 2)
        if x.numel() == self.num_groups:
            raise ValueError(f"GroupNorm needs more than one value per group; got one sample {tuple(x.shape)}.")
        return self._normalize(x, self.num_groups)

    def extra_repr(self) -> str:
        """The arguments, as torch prints them."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class InstanceNorm2d(_PerChannelAffine):
    """Normalize each channel of each image on its own: group norm with G = C.

    Formula: y = weight (x - mu) / sqrt(v + eps) + bias, mu and the biased v over H and W.
    Input (N, C, H, W), output of the same shape and dtype. Parameters as in GroupNorm, but
    the default is to have none. ValueError: see the module.
    """

    def __init__(self, num_features: int, eps: float = 1e-5, affine: bool = False) -> None:
        super().__init__(num_features, num_features, eps, affine)
        self.num_features = num_features

    def forward(self, x: Tensor) -> Tensor:
        """Normalize x; see the class for the formula, the shapes and the errors."""
        _check_input(x, self.num_features, "InstanceNorm2d", "(N, C, H, W)", x.dim() == 4)
        if x.shape[2] * x.shape[3] == 1:
            raise ValueError(f"InstanceNorm2d needs more than one value per channel; got shape {tuple(x.shape)}.")
        return self._normalize(x, self.num_features)

    def extra_repr(self) -> str:
        """The arguments, as torch prints them."""
        return f"{self.num_features}, eps={self.eps}, affine={self.affine}"


@torch.no_grad()
def group_norm_backward(
    grad_out: Tensor, x: Tensor, num_groups: int, weight: Tensor, eps: float = 1e-5
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of group normalization, without autograd; with num_groups = C, of instance norm.

    With g = weight grad_out, x_hat = (x - mu) / s and s = sqrt(v + eps), means over one group:

        grad_x      = (1 / s) (g - mean(g) - x_hat mean(g x_hat))
        grad_weight = sum grad_out x_hat      over all axes but the channels
        grad_bias   = sum grad_out            over all axes but the channels

    weight differs inside a group, so it is multiplied in BEFORE the means are taken.
    grad_out, x: (N, C, *); weight: (C,). Returns grad_x (N, C, *), grad_weight (C,), grad_bias
    (C,), each in the dtype of what it is the gradient of. Raises ValueError for other shapes and
    for C not divisible by num_groups. Source: Wu and He 2018, equation 1, differentiated.
    """
    if x.dim() < 2 or grad_out.shape != x.shape or weight.shape != x.shape[1:2]:
        shapes = f"{tuple(x.shape)}, {tuple(grad_out.shape)} and {tuple(weight.shape)}"
        raise ValueError(f"group_norm_backward needs x and grad_out (N, C, *) and weight (C,); got {shapes}.")
    _check_groups(num_groups, x.shape[1])
    rest = tuple(axis for axis in range(x.dim()) if axis != 1)
    upstream = _at_least_float32(grad_out)  # (N, C, *)
    x_hat, s = _standardized(_at_least_float32(x), num_groups, eps)  # (N, G, m), (N, G, 1)
    g = _grouped(upstream * _column(weight, x.dim()), num_groups)  # (N, G, m)
    grad_x = (g - g.mean(2, keepdim=True) - x_hat * (g * x_hat).mean(2, keepdim=True)) / s  # (N, G, m)
    grad_weight = (upstream * x_hat.reshape(x.shape)).sum(rest)  # (C,)
    grad_bias = upstream.sum(rest)  # (C,)
    return grad_x.reshape(x.shape).to(x.dtype), grad_weight.to(weight.dtype), grad_bias.to(weight.dtype)


def statistics_shape(kind: str, n: int, l: int, c: int, num_groups: int | None = None) -> tuple[int, ...]:  # noqa: E741
    """The shape of the means of an input of N sequences, L positions and C channels, (N, L, C).

    "batch": (C,), one per channel. "layer": (N,), one per sample, over L and C. "token":
    (N, L), one per position of a sample, over C. "group": (N, G), one per group of channels
    of a sample, over L and C / G. Raises ValueError for another kind and for a bad num_groups.
    """
    if kind == "group":
        if num_groups is None:
            raise ValueError('statistics_shape("group", ...) needs num_groups; got None.')
        _check_groups(num_groups, c)
        return (n, num_groups)
    shapes = {"batch": (c,), "layer": (n,), "token": (n, l)}
    if kind not in shapes:
        raise ValueError(f'kind must be "batch", "layer", "token" or "group"; got {kind!r}.')
    return shapes[kind]


def _grouped(x: Tensor, num_groups: int) -> Tensor:
    """(N, C, *) -> (N, G, m): channel c belongs to group c // (C / G), with all of its space."""
    values = x.shape[1] // num_groups * x.shape[2:].numel()
    return x.reshape(x.shape[0], num_groups, values)


def _standardized(x: Tensor, num_groups: int, eps: float) -> tuple[Tensor, Tensor]:
    """x_hat (N, G, m), each group with mean 0 and variance v / (v + eps), and s (N, G, 1)."""
    grouped = _grouped(x, num_groups)  # (N, G, m)
    centred = grouped - grouped.mean(2, keepdim=True)
    centred = centred - centred.mean(2, keepdim=True)  # what the rounding of the mean left over
    s = (centred.square().mean(2, keepdim=True) + eps).sqrt()  # (N, G, 1)
    return centred / s, s


def _column(per_channel: Tensor, rank: int) -> Tensor:
    """(C,) -> (C, 1, ...), which broadcasts against (N, C, *) with that many axes."""
    return per_channel.view(-1, *[1] * (rank - 2))


def _at_least_float32(x: Tensor) -> Tensor:
    """x itself when it is float32 or float64; float16 and bfloat16 in float32."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _check_groups(num_groups: int, num_channels: int) -> None:
    if num_groups < 1 or num_channels % num_groups != 0:
        raise ValueError(f"{num_channels} channels cannot be cut into {num_groups} groups of one size.")


def _check_input(x: Tensor, num_channels: int, name: str, layout: str, rank_is_right: bool) -> None:
    if not rank_is_right:
        raise ValueError(f"{name} takes {layout}; got shape {tuple(x.shape)}.")
    if x.shape[1] != num_channels:
        raise ValueError(f"{name} needs {num_channels} channels on axis 1; got shape {tuple(x.shape)}.")
    if not x.is_floating_point():
        raise ValueError(f"{name} needs a floating dtype; got {x.dtype}. Convert x first.")
