"""Welford's method, value by value, all groups at once; float64 inside."""
import torch
from torch import nn


def statistics_shape(kind, n, l, c, num_groups=None):
    try:
        return {"batch": lambda: (c,), "layer": lambda: (n,), "token": lambda: (n, l), "group": lambda: (n, num_groups)}[kind]()
    except KeyError as e:
        raise ValueError("kind must be batch, layer, token or group") from e


def welford(rows):
    mean = torch.zeros_like(rows[..., 0])
    m2 = torch.zeros_like(mean)
    for k, value in enumerate(rows.unbind(-1), start=1):
        delta = value - mean
        mean = mean + delta / k
        m2 = m2 + delta * (value - mean)
    return mean, m2 / rows.shape[-1]


class _Base(nn.Module):
    def __init__(self, groups, channels, eps, affine):
        super().__init__()
        if channels % groups:
            raise ValueError("not divisible")
        self.groups = groups
        self.channels = channels
        self.eps = eps
        make = (lambda f: nn.Parameter(f(channels))) if affine else (lambda f: None)
        self.register_parameter("weight", make(torch.ones))
        self.register_parameter("bias", make(torch.zeros))

    def _run(self, x):
        if x.shape[1] != self.channels:
            raise ValueError(f"{x.shape[1]} channels, not {self.channels}")
        rows = x.to(torch.float64).reshape(len(x), self.groups, -1)
        mean, var = welford(rows)
        y = ((rows - mean.unsqueeze(-1)) / torch.sqrt(var.unsqueeze(-1) + self.eps)).reshape(x.shape)
        if self.weight is not None:
            y = (y.movedim(1, -1) * self.weight + self.bias).movedim(-1, 1)
        return y.to(x.dtype)


class GroupNorm(_Base):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__(num_groups, num_channels, eps, affine)

    def forward(self, x):
        if x.ndim < 2:
            raise ValueError("two axes at least")
        return self._run(x)


class InstanceNorm2d(_Base):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__(num_features, num_features, eps, affine)

    def forward(self, x):
        if x.ndim != 4:
            raise TypeError("four axes")
        if x.shape[-1] * x.shape[-2] == 1:
            raise ValueError("one pixel")
        return self._run(x)


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    dtype = x.dtype
    grad_out, x, weight = grad_out.double(), x.double(), weight.double()
    rows = x.reshape(len(x), num_groups, -1)
    mean, var = welford(rows)
    std = (var + eps).sqrt().unsqueeze(-1)
    x_hat = (rows - mean.unsqueeze(-1)) / std
    g = (grad_out.movedim(1, -1) * weight).movedim(-1, 1).reshape(rows.shape)
    m = rows.shape[-1]
    dx = (m * g - g.sum(-1, keepdim=True) - x_hat * (g * x_hat).sum(-1, keepdim=True)) / (m * std)
    flat = lambda t: t.reshape(x.shape).movedim(1, 0).flatten(1).sum(1).to(dtype)
    return dx.reshape(x.shape).to(dtype), flat(grad_out * x_hat.reshape(x.shape)), flat(grad_out)
