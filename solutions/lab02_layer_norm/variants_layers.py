"""Honest solutions that differ in how the layers are built: statistics, shapes, classes, an autograd.Function."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab02_layer_norm.mistakes_gradients import FUNCTION_LAYER
from solutions.lab02_layer_norm.plain import (
    AXES,
    MEAN,
    PLAIN,
    PLAIN_BACKWARD,
    PLAIN_RMS,
    RMS_AFFINE,
    RMS_HAT,
    SQUARE,
    VAR,
    X_HAT,
    edit,
    in_style,
)

FUNCTION_BACKWARD = """\
import torch


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    d = x.size(-1)
    centred = x - x.sum(-1, keepdim=True) / d
    inv_std = torch.rsqrt((centred * centred).sum(-1, keepdim=True) / d + eps)
    x_hat = centred * inv_std
    g = weight * grad_out
    total, along = g.sum(-1, keepdim=True), (g * x_hat).sum(-1, keepdim=True)
    grad_x = (d * g - total - x_hat * along) * inv_std / d
    rows = (grad_out * x_hat).reshape(-1, d)
    return grad_x, rows.sum(0), grad_out.reshape(-1, d).sum(0)
"""

EINOPS_LAYER = '''\
from math import prod

import torch
from einops import rearrange, reduce
from torch import nn


class LayerNorm(nn.Module):
    """Every set is one row of a matrix."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        self.shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        for name, start in (("weight", torch.ones), ("bias", torch.zeros)):
            self.register_parameter(name, nn.Parameter(start(self.shape)) if elementwise_affine else None)

    def forward(self, x):
        if x.dim() < len(self.shape) or any(a != b for a, b in zip(reversed(x.shape), reversed(self.shape))):
            raise ValueError(f"{tuple(x.shape)} does not end in {self.shape}")
        rows = x.reshape(-1, prod(self.shape))
        rows = rows - reduce(rows, "r d -> r 1", "mean")
        rows = rows / (reduce(rows.square(), "r d -> r 1", "mean") + self.eps).sqrt()
        if self.weight is not None:
            scale, shift = (rearrange(p.flatten(), "d -> 1 d") for p in (self.weight, self.bias))
            rows = rows * scale + shift
        return rows.reshape(x.shape)
'''

EINOPS_BACKWARD = """\
from einops import einsum, reduce


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    x_hat = x - reduce(x, "... d -> ... 1", "mean")
    std = (reduce(x_hat**2, "... d -> ... 1", "mean") + eps) ** 0.5
    x_hat = x_hat / std
    g = einsum(grad_out, weight, "... d, d -> ... d")
    slope = einsum(g, x_hat, "... d, ... d -> ...") / x.shape[-1]
    grad_x = g - reduce(g, "... d -> ... 1", "mean") - x_hat * slope[..., None]
    return grad_x / std, einsum(grad_out, x_hat, "... d, ... d -> d"), reduce(grad_out, "... d -> d", "sum")
"""

EINOPS_RMS = """\
import torch
from einops import rearrange, reduce
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        self.shape = torch.Size([normalized_shape] if isinstance(normalized_shape, int) else normalized_shape)
        self.eps = eps
        self.register_parameter("weight", nn.Parameter(torch.ones(self.shape)) if elementwise_affine else None)

    def forward(self, x):
        rows = x.reshape(-1, self.shape.numel())
        eps = torch.finfo(x.dtype).eps if self.eps is None else self.eps
        rows = rows * (reduce(rows**2, "r d -> r", "mean") + eps).rsqrt()[:, None]
        if self.weight is not None:
            rows = rows * rearrange(self.weight, "... -> (...)")
        return rows.reshape(x.shape).type_as(x)
"""

LOOP_LAYER = """\
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        try:
            self.dims = [int(size) for size in normalized_shape]
        except TypeError:
            self.dims = [normalized_shape]
        self.eps = eps
        self.affine = elementwise_affine
        if elementwise_affine:
            self.weight = nn.Parameter(torch.ones(*self.dims))
            self.bias = nn.Parameter(torch.zeros(*self.dims))
        else:
            self.weight = self.bias = None

    def normalize_one(self, s):
        n = s.numel()
        m = sum(s.flatten()[i] for i in range(n)) / n
        v = sum((s.flatten()[i] - m) ** 2 for i in range(n)) / n
        out = (s - m) / (v + self.eps) ** 0.5
        if self.affine:
            out = out * self.weight + self.bias
        return out

    def forward(self, x):
        if list(x.shape)[-len(self.dims):] != self.dims:
            raise ValueError("wrong shape: %s" % (list(x.shape),))
        if x.dim() == len(self.dims):
            return self.normalize_one(x)
        return torch.stack([self.forward(part) for part in x])
"""

LOOP_BACKWARD = """\
import torch


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    if x.dim() > 2:
        parts = [layer_norm_backward(g, part, weight, eps) for g, part in zip(grad_out, x)]
        gx, gw, gb = zip(*parts)
        return torch.stack(gx), sum(gw), sum(gb)
    d = x.shape[1]
    grad_x = torch.zeros_like(x)
    grad_weight = torch.zeros_like(weight)
    grad_bias = torch.zeros_like(weight)
    for i in range(x.shape[0]):
        m = x[i].sum() / d
        v = ((x[i] - m) ** 2).sum() / d
        s = (v + eps).sqrt()
        xh = (x[i] - m) / s
        g = grad_out[i] * weight
        jacobian = (torch.eye(d, dtype=x.dtype) - 1 / d - torch.outer(xh, xh) / d) / s
        grad_x[i] = jacobian @ g
        grad_weight += grad_out[i] * xh
        grad_bias += grad_out[i]
    return grad_x, grad_weight, grad_bias
"""

LOOP_RMS = """\
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        try:
            self.dims = [int(size) for size in normalized_shape]
        except TypeError:
            self.dims = [normalized_shape]
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(*self.dims)) if elementwise_affine else None

    def forward(self, x):
        if x.dim() > len(self.dims):
            return torch.stack([self.forward(part) for part in x])
        eps = self.eps if self.eps is not None else torch.finfo(x.dtype).eps
        ms = 0
        for number in x.flatten():
            ms = ms + number * number
        out = x / (ms / x.numel() + eps).sqrt()
        if self.weight is not None:
            out = out * self.weight
        return out.to(dtype=x.dtype)
"""

BASE = '''\
import torch
from torch import nn


class OverTheLastAxes(nn.Module):
    """A layer whose sets of values are the last axes of x."""

    centred = True

    def __init__(self, normalized_shape, eps, elementwise_affine):
        super().__init__()
        numbers = [normalized_shape] if isinstance(normalized_shape, int) else normalized_shape
        self.normalized_shape = torch.Size(numbers)
        self._eps = eps
        self.weight = self.parameter(torch.ones, elementwise_affine)

    def parameter(self, start, wanted):
        return nn.Parameter(start(self.normalized_shape)) if wanted else None

    @property
    def axes(self):
        return [-1 - axis for axis in range(len(self.normalized_shape))]

    def eps_for(self, x):
        return torch.finfo(x.dtype).eps if self._eps is None else self._eps

    def forward(self, x):
        y = x - x.mean(self.axes, keepdim=True) if self.centred else x
        y = y / torch.sqrt(torch.mean(y * y, self.axes, keepdim=True) + self.eps_for(x))
        if self.weight is not None:
            y = torch.mul(self.weight, y)
        return y.to(x.dtype)


'''
BASE_LAYER = (
    BASE
    + """\
class LayerNorm(OverTheLastAxes):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__(normalized_shape, eps, elementwise_affine)
        self.bias = self.parameter(torch.zeros, elementwise_affine)

    def forward(self, x):
        if x.shape[-len(self.normalized_shape) :] != self.normalized_shape:
            raise ValueError(f"{[*x.shape]} does not end in {[*self.normalized_shape]}")
        y = super().forward(x)
        return y if self.bias is None else y + self.bias
"""
)
BASE_RMS = (
    BASE
    + """\
class RMSNorm(OverTheLastAxes):
    centred = False

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__(normalized_shape, eps, elementwise_affine)
"""
)

STEPS_BACKWARD = """\
import torch


def _rows(x):
    mean = x.mean(-1, keepdim=True)
    return mean, (x - mean).pow(2).mean(-1, keepdim=True)


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    d = x.shape[-1]
    mean, var = _rows(x)
    centred, std = x - mean, (var + eps) ** 0.5
    grad_x_hat = grad_out * weight
    grad_var = (grad_x_hat * centred * -0.5 * (var + eps) ** -1.5).sum(-1, keepdim=True)
    grad_mean = (-grad_x_hat / std).sum(-1, keepdim=True) + grad_var * (-2 * centred).sum(-1, keepdim=True) / d
    grad_x = grad_x_hat / std + grad_var * 2 * centred / d + grad_mean / d
    lead = list(range(x.ndim - 1))
    return grad_x, torch.sum(grad_out * centred / std, lead), torch.sum(grad_out, lead)
"""

LAYERS: tuple[Variant, ...] = (
    Variant("plain", "The plain sources themselves", PLAIN),
    in_style(
        "var-mean",
        "torch.var_mean and rsqrt; the backward pass with sums",
        (f"{MEAN}\n        {VAR}\n", "var, mean = torch.var_mean(x, dim=axes, correction=0, keepdim=True)\n"),
        (X_HAT, "x_hat = (x - mean) * torch.rsqrt(var + self.eps)"),
        backward=FUNCTION_BACKWARD,
        rms=edit(PLAIN_RMS, (RMS_HAT, "x_hat = x * torch.rsqrt(mean_square + eps)")),
    ),
    Variant(
        "autograd-function",
        "An autograd.Function with its own backward pass",
        {**PLAIN, "LayerNorm": FUNCTION_LAYER, "layer_norm_backward": STEPS_BACKWARD},
    ),
    Variant(
        "einops",
        "einops, sets as rows of a matrix",
        {"LayerNorm": EINOPS_LAYER, "layer_norm_backward": EINOPS_BACKWARD, "RMSNorm": EINOPS_RMS},
    ),
    Variant(
        "loops",
        "Recursion over the leading axes, loops over numbers, a Jacobian for each row",
        {"LayerNorm": LOOP_LAYER, "layer_norm_backward": LOOP_BACKWARD, "RMSNorm": LOOP_RMS},
    ),
    Variant(
        "own-base-class",
        "Both layers derive from a class of their own",
        {"LayerNorm": BASE_LAYER, "layer_norm_backward": PLAIN_BACKWARD, "RMSNorm": BASE_RMS},
    ),
    in_style(
        "flattened",
        "The axes of a set are flattened, and unflattened again",
        (
            f"{AXES}\n        {MEAN}\n        {VAR}\n        {X_HAT}\n",
            "flat = x.flatten(x.dim() - k)\n        centred = flat - flat.mean(-1).unsqueeze(-1)\n"
            "        std = (centred.square().mean(-1) + self.eps).sqrt()\n"
            "        x_hat = (centred / std.unsqueeze(-1)).unflatten(-1, self.normalized_shape)\n",
        ),
        rms=edit(
            PLAIN_RMS,
            (
                SQUARE,
                "flat = x.flatten(-len(axes))\n        norm = torch.linalg.vector_norm(flat, dim=-1, keepdim=True)",
            ),
            (
                RMS_HAT,
                "x_hat = (flat / (norm**2 / flat.shape[-1] + eps) ** 0.5).view(x.shape)",
            ),
            (RMS_AFFINE, RMS_AFFINE.replace("y.to(x.dtype)", "torch.as_tensor(y, dtype=x.dtype)")),
        ),
    ),
)
