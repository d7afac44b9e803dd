import math

import torch
from torch import nn


def statistics_shape(kind, n, l, c, num_groups=None):
    if kind == "batch":
        return tuple([c])
    elif kind == "layer":
        return tuple([n])
    elif kind == "token":
        return tuple([n, l])
    elif kind == "group":
        if num_groups is None or c % num_groups != 0:
            raise ValueError("num_groups must divide c")
        return tuple([n, num_groups])
    else:
        raise KeyError("no such kind: " + str(kind))


class GroupNorm(nn.Module):
    """One sample after the other, one group after the other."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super(GroupNorm, self).__init__()
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        if affine:
            self.weight = nn.Parameter(torch.ones(num_channels))
            self.bias = nn.Parameter(torch.zeros(num_channels))
        else:
            self.weight = None
            self.bias = None

    def forward(self, x):
        if self.num_channels % self.num_groups != 0:
            raise ValueError("groups do not fit")
        if len(x.shape) < 2:
            raise ValueError("need two axes")
        if x.shape[1] != self.num_channels:
            raise ValueError("wrong channels")
        width = self.num_channels // self.num_groups
        samples = []
        for sample in x:
            groups = []
            for first in range(0, self.num_channels, width):
                piece = sample[first:first + width]
                mean = piece.sum() / piece.numel()
                var = ((piece - mean) * (piece - mean)).sum() / piece.numel()
                piece = (piece - mean) / (var + self.eps) ** 0.5
                if self.weight is not None:
                    channels = []
                    for k in range(width):
                        channels.append(piece[k] * self.weight[first + k] + self.bias[first + k])
                    piece = torch.stack(channels)
                groups.append(piece)
            samples.append(torch.cat(groups))
        return torch.stack(samples)


class InstanceNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super(InstanceNorm2d, self).__init__()
        self.num_features = num_features
        self.eps = eps
        self.affine = affine
        if affine:
            self.weight = nn.Parameter(torch.ones(num_features))
            self.bias = nn.Parameter(torch.zeros(num_features))

    def forward(self, x):
        if len(x.shape) != 4 or x.shape[1] != self.num_features:
            raise ValueError("not an image batch with this many channels")
        n, c, h, w = x.shape
        if h * w == 1:
            raise ValueError("one pixel only")
        out = []
        for i in range(n):
            for j in range(c):
                a = x[i, j]
                mean = a.mean()
                a = (a - mean) / torch.sqrt(((a - mean) ** 2).mean() + self.eps)
                if self.affine:
                    a = self.weight[j] * a + self.bias[j]
                out.append(a)
        return torch.stack(out).reshape(n, c, h, w)


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    n, c = x.shape[:2]
    width = c // num_groups
    grad_x = torch.zeros(x.shape, dtype=x.dtype)
    grad_weight = torch.zeros(c, dtype=x.dtype)
    grad_bias = torch.zeros(c, dtype=x.dtype)
    with torch.no_grad():
        for i in range(n):
            for g in range(num_groups):
                chans = range(g * width, (g + 1) * width)
                piece = x[i, g * width:(g + 1) * width]
                m = piece.numel()
                mean = piece.mean()
                std = math.sqrt(((piece - mean) ** 2).mean().item() + eps)
                total, total_hat = 0.0, 0.0
                for k in chans:
                    x_hat = (x[i, k] - mean) / std
                    total = total + (weight[k] * grad_out[i, k]).sum()
                    total_hat = total_hat + (weight[k] * grad_out[i, k] * x_hat).sum()
                    grad_weight[k] += (grad_out[i, k] * x_hat).sum()
                    grad_bias[k] += grad_out[i, k].sum()
                for k in chans:
                    x_hat = (x[i, k] - mean) / std
                    grad_x[i, k] = (weight[k] * grad_out[i, k] - total / m - x_hat * total_hat / m) / std
    return grad_x, grad_weight, grad_bias
