"""In-place work on temporaries of my own, where no gradient is needed; membership matrix for the groups."""
import torch
from torch import nn


def statistics_shape(kind, n, l, c, num_groups=None):
    x = {"b": "batch", "l": "layer", "t": "token", "g": "group"}
    if not isinstance(kind, str) or kind not in x.values():
        raise ValueError(repr(kind))
    full = {"batch": (1, 1, c), "layer": (n, 1, 1), "token": (n, l, 1)}
    return (n, num_groups) if kind == "group" else {"batch": (c,), "layer": (n,), "token": (n, l)}[kind] or full


def _membership(groups, channels, like):
    index = torch.arange(channels).div(channels // groups, rounding_mode="floor")
    return (index[None, :] == torch.arange(groups)[:, None]).to(like.dtype)


def _group_mean(values, member):
    """values (N, C, S) -> the mean of its group for every channel (N, C, 1)."""
    per_group = values.sum(2) @ member.T / (member.sum(1) * values.shape[2])
    return (per_group @ member)[:, :, None]


class GroupNorm(nn.Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError("no")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = nn.Parameter(torch.ones(num_channels)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_channels)) if affine else None

    def forward(self, x):
        if x.dim() < 2 or x.shape[1] != self.num_channels:
            raise ValueError(f"(N, {self.num_channels}, *) expected")
        flat = x.reshape(x.shape[0], x.shape[1], -1)
        member = _membership(self.num_groups, self.num_channels, flat)
        d = flat - _group_mean(flat, member)
        d = d - _group_mean(d, member)
        var = _group_mean(d * d, member)
        y = d * torch.rsqrt(var + self.eps)
        if self.weight is not None:
            y = torch.baddbmm(self.bias[None, :, None], torch.diag(self.weight).expand(len(y), -1, -1), y)
        return y.reshape(x.shape)


class InstanceNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__()
        self.num_features, self.eps = num_features, eps
        self.register_parameter("weight", nn.Parameter(torch.ones(num_features)) if affine else None)
        self.register_parameter("bias", nn.Parameter(torch.zeros(num_features)) if affine else None)

    def forward(self, x):
        if x.dim() != 4 or x.shape[1] != self.num_features:
            raise ValueError("shape")
        if x.shape[2] * x.shape[3] <= 1:
            raise ValueError("pixel")
        y = x.clone(memory_format=torch.contiguous_format).flatten(2)
        y -= y.mean(2, keepdim=True)
        y = y / ((y * y).mean(2, keepdim=True) + self.eps).sqrt()
        if self.weight is not None:
            y = y * self.weight.unsqueeze(1) + self.bias.unsqueeze(1)
        return y.view(x.shape)


@torch.no_grad()
def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    n, c = x.shape[:2]
    d = x.detach().clone(memory_format=torch.contiguous_format).view(n, num_groups, -1)
    d -= d.mean(-1, keepdim=True)
    std = d.square().mean(-1, keepdim=True).add_(eps).sqrt_()
    d /= std
    dy = grad_out.detach().clone(memory_format=torch.contiguous_format)
    grad_bias = dy.view(n, c, -1).sum((0, 2))
    grad_weight = dy.view(n, c, -1).mul(d.view(n, c, -1)).sum((0, 2))
    dy.view(n, c, -1).mul_(weight.detach()[:, None])
    g = dy.view(n, num_groups, -1)
    slope = (g * d).mean(-1, keepdim=True)
    g -= g.mean(-1, keepdim=True)
    g -= d.mul_(slope)
    g /= std
    return g.view(x.shape), grad_weight, grad_bias
