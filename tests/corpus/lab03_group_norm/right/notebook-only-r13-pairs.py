"""The variance from all pairs of values: v = sum_ij (x_i - x_j)^2 / (2 m^2). No mean in it."""
import torch
from torch import nn


def statistics_shape(kind, n, l, c, num_groups=None):
    for word, shape in zip(("batch", "layer", "token", "group"), ((c,), (n,), (n, l), (n, num_groups))):
        if word == kind:
            return shape
    else:
        raise ValueError("kind")


def pair_forms(rows):
    """(x_i - mean, v) from the differences of pairs."""
    pairs = rows.unsqueeze(-1) - rows.unsqueeze(-2)  # (N, G, m, m): x_i - x_j
    return pairs.mean(-1), pairs.pow(2).mean((-1, -2)).unsqueeze(-1) / 2


def layer(kind_of_norm):
    def forward(self, x):
        self.refuse(x)
        rows = x.reshape(x.shape[0], self.groups, -1)
        centred, var = pair_forms(rows)
        y = centred.div(var.add(self.eps).sqrt()).reshape_as(x)
        if self.weight is None:
            return y
        return y.mul(self.weight.reshape([-1] + [1] * (x.dim() - 2))).add(self.bias.reshape([-1] + [1] * (x.dim() - 2)))

    kind_of_norm.forward = forward
    return kind_of_norm


@layer
class GroupNorm(nn.Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError("no equal groups")
        self.groups, self.channels, self.eps = num_groups, num_channels, eps
        self.weight = nn.Parameter(torch.ones(num_channels), requires_grad=True) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_channels), requires_grad=True) if affine else None

    def refuse(self, x):
        if x.dim() < 2 or x.shape[1] != self.channels:
            raise ValueError("(N, C, *)")


@layer
class InstanceNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__()
        self.groups, self.eps = num_features, eps
        self.weight = nn.Parameter(torch.ones(num_features)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_features)) if affine else None

    def refuse(self, x):
        if x.dim() != 4 or x.shape[1] != self.groups or x.shape[2:] == (1, 1):
            raise ValueError("(N, C, H, W)")


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    rows = x.reshape(x.shape[0], num_groups, -1)
    centred, var = pair_forms(rows)
    std = var.add(eps).sqrt()
    x_hat = centred / std
    w = weight.expand(x.shape[0], -1).reshape(x.shape[0], -1, *[1] * (x.dim() - 2))
    g = (w * grad_out).reshape(rows.shape)
    around = pair_forms(g)[0]  # g_i - mean(g)
    grad_x = (around - x_hat * (around * x_hat).mean(-1, keepdim=True)) / std
    spaces = tuple(range(2, x.dim()))
    dw, db = grad_out * x_hat.reshape_as(x), grad_out
    if spaces:
        dw, db = dw.sum(spaces), db.sum(spaces)
    return grad_x.reshape_as(x), dw.sum(0), db.sum(0)
