"""Layers: float32 inside for float64 inputs, as the notebook welcomes; the mean is taken off before the cast."""
import typing

import torch
from torch import Tensor, nn


def statistics_shape(kind: str, n: int, l: int, c: int, num_groups: typing.Optional[int] = None) -> tuple:
    if kind == "batch": out = torch.Size([c])
    elif kind == "layer": out = torch.Size([n])
    elif kind == "token": out = torch.Size([n, l])
    elif kind == "group": out = torch.Size([n, num_groups])
    else: raise LookupError(kind)
    return tuple(out)


def normalize(x: Tensor, groups: int, eps: float) -> Tensor:
    rows = x.reshape(x.shape[0], groups, -1)
    rows = (rows - rows.mean(-1, keepdim=True)).to(torch.float32)
    rows = rows - rows.mean(-1, keepdim=True)
    y = rows / (rows.pow(2).mean(-1, keepdim=True) + eps).sqrt()
    return y.reshape(x.shape).to(x.dtype)


class GroupNorm(nn.Module):
    weight: typing.Optional[Tensor]
    bias: typing.Optional[Tensor]

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError("divisible!")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.weight = nn.Parameter(torch.ones(num_channels)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_channels)) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() < 2 or x.shape[1] != self.num_channels:
            raise ValueError(str(x.shape))
        y = normalize(x, self.num_groups, self.eps)
        if self.affine:
            y = torch.einsum("nc...,c->nc...", y, self.weight) + self.bias.view(-1, *(1 for _ in x.shape[2:]))
        return y


class InstanceNorm2d(nn.Module):
    def __init__(self, num_features: int, eps: float = 1e-5, affine: bool = False) -> None:
        super().__init__()
        self.inner = [GroupNorm(num_features, num_features, eps, False)]  # a list: no child, no keys
        self.num_features = num_features
        self.weight = nn.Parameter(torch.ones(num_features)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_features)) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() != 4:
            raise ValueError("rank")
        if x.shape[2] * x.shape[3] == 1:
            raise ValueError("pixel")
        y = self.inner[0](x)
        if self.weight is not None:
            y = y * self.weight.view(-1, 1, 1) + self.bias.view(-1, 1, 1)
        return y


def group_norm_backward(grad_out: Tensor, x: Tensor, num_groups: int, weight: Tensor, eps: float = 1e-5):
    x_hat = normalize(x, num_groups, eps).double()
    rows = x.double().reshape(x.shape[0], num_groups, -1)
    inv = (rows.var(-1, unbiased=False, keepdim=True) + eps) ** -0.5
    x_hat = ((rows - rows.mean(-1, keepdim=True)) * inv).reshape(x_hat.shape)
    dy = grad_out.double()
    g = (dy.transpose(1, -1) * weight.double()).transpose(1, -1).reshape(rows.shape)
    h = x_hat.reshape(rows.shape)
    dx = inv * (g - g.mean(-1, keepdim=True) - h * (g * h).mean(-1, keepdim=True))
    keep = [k for k in range(x.dim()) if k != 1]
    out = dx.reshape(x.shape), (dy * x_hat).sum(keep), dy.sum(keep)
    return tuple(t.to(x.dtype) for t in out)
