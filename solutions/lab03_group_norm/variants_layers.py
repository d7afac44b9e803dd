"""Honest layers in styles of their own: loops, a class behind both, functions made by functions, odd names."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab03_group_norm.plain import (
    PLAIN,
    PLAIN_GROUP,
    variant,
)
from solutions.lab03_group_norm.variants_function import FUNCTION

LOOPS = """\
import torch
from torch import nn


class GroupNorm(nn.Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        if affine:
            self.weight = nn.Parameter(torch.ones(num_channels))
            self.bias = nn.Parameter(torch.zeros(num_channels))

    def forward(self, x):
        width, left_over = divmod(self.num_channels, self.num_groups)
        if left_over:  # at the first call, not in the constructor
            raise ValueError("the channels do not fill the groups")
        if x.size(1) != self.num_channels:
            raise RuntimeError("wrong number of channels")
        samples = []
        for sample in x:
            channels = []
            for start in range(0, self.num_channels, width):
                group = sample[start : start + width]
                mean = group.sum() / group.numel()
                var = ((group - mean) ** 2).sum() / group.numel()
                for c in range(start, start + width):
                    y = (sample[c] - mean) / (var + self.eps) ** 0.5
                    channels.append(y * self.weight[c] + self.bias[c] if self.affine else y)
            samples.append(torch.stack(channels))
        return torch.stack(samples)
"""

INSTANCE_LOOPS = """\
import torch
from torch import nn


class InstanceNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__()
        self.num_features, self.eps, self.affine = num_features, eps, affine
        if affine:
            self.weight = nn.Parameter(torch.ones(num_features))
            self.bias = nn.Parameter(torch.zeros(num_features))

    def forward(self, x):
        n, c, h, w = x.shape
        assert c == self.num_features, "wrong number of channels"
        if h * w == 1:
            raise ValueError("one pixel")
        planes = []
        for plane in x.reshape(n * c, h, w):
            mean = sum(row.sum() for row in plane) / (h * w)
            var = sum(((row - mean) ** 2).sum() for row in plane) / (h * w)
            planes.append((plane - mean) / torch.sqrt(var + self.eps))
        y = torch.stack(planes).reshape(n, c, h, w)
        if self.affine:
            y = torch.stack([y[:, k] * self.weight[k] + self.bias[k] for k in range(c)], dim=1)
        return y
"""

SHARED = '''\
import torch
from torch import nn


class _Normalization(nn.Module):
    """What both layers share, laid out as torch lays out its own."""

    def __init__(self, num_groups, num_channels, eps, affine):
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError("num_channels must be divisible by num_groups")
        self.num_groups = num_groups
        self.num_channels = self.num_features = num_channels
        self.eps = eps
        self.affine = affine
        if affine:
            self.weight = nn.Parameter(torch.empty(num_channels))
            self.bias = nn.Parameter(torch.empty(num_channels))
        else:
            self.register_parameter("weight", None)
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        if self.affine:
            nn.init.ones_(self.weight)
            nn.init.zeros_(self.bias)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"

    def forward(self, input):
        self._check(input)
        split = input.unflatten(1, (self.num_groups, -1))
        dims = tuple(range(2, split.dim()))
        centred = split - split.mean(dims, keepdim=True)
        out = centred * (centred.square().mean(dims, keepdim=True) + self.eps).rsqrt()
        out = out.flatten(1, 2)
        if self.affine:
            out = out.transpose(1, -1) * self.weight + self.bias  # the channels last, for broadcasting
            out = out.transpose(1, -1)
        return out

'''

SHARED_GROUP = (
    SHARED
    + """
class GroupNorm(_Normalization):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__(num_groups, num_channels, eps, affine)

    def _check(self, input):
        if input.dim() < 2 or input.size(1) != self.num_channels:
            raise ValueError(f"unexpected shape {tuple(input.shape)}")
"""
)

SHARED_INSTANCE = (
    SHARED
    + """
class InstanceNorm2d(_Normalization):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__(num_features, num_features, eps, affine)

    def _check(self, input):
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")
        if input.size(1) != self.num_features:
            raise ValueError(f"expected {self.num_features} channels, got {input.size(1)}")
        if input.shape[2:].numel() == 1:
            raise ValueError("Expected more than 1 spatial element")
"""
)

DERIVED_INSTANCE = (
    PLAIN_GROUP
    + """

class InstanceNorm2d(GroupNorm):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__(num_features, num_features, eps=eps, affine=affine)

    def forward(self, x):
        if x.dim() == 3:  # as torch does: one image
            return self.forward(x[None])[0]
        if x.dim() != 4 or x[0, 0].numel() < 2:
            raise ValueError(f"expected images of several pixels, got {tuple(x.shape)}")
        return super().forward(x)
"""
)

CLOSURES = """\
import functools

import torch
from torch import nn


def normalizer(groups, eps):
    def split(x):
        return x.reshape(x.shape[0], groups, -1)

    def standard(rows):
        var, mean = torch.var_mean(rows, dim=-1, keepdim=True, correction=0)
        return (rows - mean).mul(var.add(eps).rsqrt())

    return lambda x: functools.reduce(lambda value, f: f(value), (split, standard), x).reshape(x.shape)


class GroupNorm(nn.Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"{num_channels} % {num_groups} is not 0")
        self.channels, self.groups, self.eps = num_channels, num_groups, eps
        for name, start in (("weight", torch.ones), ("bias", torch.zeros)):
            self.register_parameter(name, nn.Parameter(start(num_channels)) if affine else None)

    def forward(self, x):
        match tuple(x.shape):
            case (_, c, *space) if c == self.channels:
                y = normalizer(self.groups, self.eps)(x)
            case other:
                raise ValueError(f"{other} does not fit {self.channels} channels")
        if self.weight is None:
            return y
        column = (c,) + (1,) * len(space)
        return torch.addcmul(self.bias.reshape(column), y, self.weight.reshape(column))
"""

GREEK = """\
import torch as τ
from torch import nn


class GroupNorm(nn.Module):
    def __init__(selbst, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        if (num_channels // num_groups) * num_groups != num_channels:
            raise ValueError("geht nicht auf")
        selbst.γ, selbst.ε, selbst.C = num_groups, eps, num_channels
        selbst.weight, selbst.bias = (nn.Parameter(f(num_channels)) if affine else None for f in (τ.ones, τ.zeros))

    def forward(selbst, χ):
        if not (χ.ndim > 1 and χ.size(1) == selbst.C):
            raise ValueError(f"{[*χ.shape]} ?")
        stücke = χ.chunk(selbst.γ, dim=1)  # neighbours stay together
        fertig = []
        for ψ in stücke:
            achsen = tuple(range(1, ψ.ndim))
            μ = ψ.mean(achsen, keepdim=True)
            σ = (ψ - μ).square().mean(achsen, keepdim=True).add(selbst.ε).sqrt()
            fertig.append((ψ - μ) / σ)
        χ = τ.cat(fertig, 1)
        if selbst.weight is None:
            return χ
        return τ.einsum("nc...,c->nc...", χ, selbst.weight) + selbst.bias.reshape(-1, *[1] * (χ.ndim - 2))
"""

LAYERS: tuple[Variant, ...] = (
    Variant("plain", "The plain solution", PLAIN),
    variant("loops", "Loops over samples, groups and channels", GroupNorm=LOOPS, InstanceNorm2d=INSTANCE_LOOPS),
    variant(
        "shared-class", "One class behind both layers, laid out as in torch; groups by unflatten",
        GroupNorm=SHARED_GROUP, InstanceNorm2d=SHARED_INSTANCE,
    ),
    variant("derived", "InstanceNorm2d is a GroupNorm with C groups, and takes one image too", InstanceNorm2d=DERIVED_INSTANCE),
    variant("closures", "Functions made by functions, structural matching", GroupNorm=CLOSURES),
    variant("greek-letters", "Greek letters, German words, chunks of channels", GroupNorm=GREEK),
    variant("autograd-function", "A torch.autograd.Function with a backward pass written by hand", GroupNorm=FUNCTION),
)  # fmt: skip
