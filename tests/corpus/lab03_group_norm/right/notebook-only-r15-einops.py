import torch
from einops import rearrange, reduce, repeat
from torch import nn


def statistics_shape(kind, n, l, c, num_groups=None):
    if kind == "group":
        return n, num_groups
    return tuple({"batch": [c], "layer": [n], "token": [n, l]}[kind])


def hat(x, groups, eps):
    rows = rearrange(x, "n (g k) ... -> n g (k ...)", g=groups) if x.ndim == 2 else x.flatten(2)
    rows = rearrange(rows, "n g k -> n g k") if x.ndim == 2 else rearrange(rows, "n (g k) s -> n g (k s)", g=groups)
    centred = rows - reduce(rows, "n g m -> n g 1", "mean")
    return centred, torch.sqrt(reduce(centred**2, "n g m -> n g 1", "mean") + eps)


class GroupNorm(nn.Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError("groups")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = nn.Parameter(torch.ones(num_channels)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_channels)) if affine else None

    def forward(self, x):
        if x.ndim < 2 or x.shape[1] != self.num_channels:
            raise ValueError("input")
        centred, std = hat(x, self.num_groups, self.eps)
        y = (centred / std).reshape(x.shape)
        if self.weight is not None:
            y = rearrange(rearrange(y, "n c ... -> n ... c") * self.weight + self.bias, "n ... c -> n c ...")
        return y


class InstanceNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__()
        self.num_features, self.eps = num_features, eps
        self.weight = nn.Parameter(torch.ones(num_features)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_features)) if affine else None

    def forward(self, x):
        if x.ndim != 4 or x.shape[1] != self.num_features:
            raise ValueError("input")
        if x.shape[2] * x.shape[3] == 1:
            raise ValueError("one pixel")
        centred = x - reduce(x, "n c h w -> n c 1 1", "mean")
        y = centred / (reduce(centred**2, "n c h w -> n c 1 1", "mean") + self.eps).sqrt()
        if self.weight is not None:
            y = y * rearrange(self.weight, "c -> c 1 1") + rearrange(self.bias, "c -> c 1 1")
        return y


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    centred, std = hat(x, num_groups, eps)
    h = centred / std
    dy = grad_out.reshape(*grad_out.shape[:2], -1)
    g = rearrange(dy * repeat(weight, "c -> c s", s=dy.shape[2]), "n (g k) s -> n g (k s)", g=num_groups)
    dx = (g - reduce(g, "n g m -> n g 1", "mean") - h * reduce(g * h, "n g m -> n g 1", "mean")) / std
    return dx.reshape(x.shape), reduce(dy * h.reshape(dy.shape), "n c s -> c", "sum"), reduce(dy, "n c s -> c", "sum")
