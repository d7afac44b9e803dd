import torch
from torch import nn
from torch.autograd import Function


class _Sets(Function):
    @staticmethod
    def forward(ctx, sets, eps):
        mu = sets.mean(-1, keepdim=True)
        c = sets - mu
        inv = torch.rsqrt((c * c).mean(-1, keepdim=True) + eps)
        h = c * inv
        ctx.save_for_backward(h, inv)
        return h

    @staticmethod
    def backward(ctx, g):
        h, inv = ctx.saved_tensors
        return inv * (g - g.mean(-1, keepdim=True) - h * (g * h).mean(-1, keepdim=True)), None


class _PerChannel:
    def make_parameters(self, c, wanted):
        self.weight = nn.Parameter(torch.ones(c)) if wanted else None
        self.bias = nn.Parameter(torch.zeros(c)) if wanted else None

    def scaled(self, y):
        if self.weight is None:
            return y
        column = (-1,) + (1,) * (y.ndim - 2)
        return y * self.weight.reshape(column) + self.bias.reshape(column)


class GroupNorm(_PerChannel, nn.Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError("the groups do not divide the channels")
        self.groups, self.channels, self.eps = num_groups, num_channels, eps
        self.make_parameters(num_channels, affine)

    def forward(self, x):
        if x.ndim < 2 or x.size(1) != self.channels:
            raise ValueError(f"{tuple(x.shape)}: expected (N, {self.channels}, *)")
        h = _Sets.apply(x.reshape(x.size(0), self.groups, -1), self.eps)
        return self.scaled(h.reshape(x.shape))


class InstanceNorm2d(_PerChannel, nn.Module):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__()
        self.channels, self.eps = num_features, eps
        self.make_parameters(num_features, affine)

    def forward(self, x):
        if x.ndim != 4 or x.size(1) != self.channels or x.size(2) * x.size(3) == 1:
            raise ValueError(f"{tuple(x.shape)}")
        return self.scaled(_Sets.apply(x.flatten(2), self.eps).reshape(x.shape))


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    n, c = x.shape[:2]
    rows = x.reshape(n, c, -1)
    g = grad_out.reshape(n, c, -1)
    sets = rows.reshape(n, num_groups, -1)
    mu = sets.mean(2, keepdim=True)
    inv = ((sets - mu).square().mean(2, keepdim=True) + eps).rsqrt()
    h = (sets - mu) * inv
    a = (g * weight[:, None]).reshape(sets.shape)
    grad_x = inv * (a - a.mean(2, keepdim=True) - h * (a * h).mean(2, keepdim=True))
    return grad_x.reshape(x.shape), (g * h.reshape(g.shape)).sum((0, 2)), g.sum((0, 2))


def statistics_shape(kind, n, l, c, num_groups=None):
    return {"batch": (c,), "layer": (n,), "token": (n, l), "group": (n, num_groups)}[kind]
