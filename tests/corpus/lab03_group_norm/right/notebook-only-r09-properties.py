from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Settings:
    groups: int
    channels: int
    eps: float
    affine: bool

    def __post_init__(self):
        if self.channels % self.groups != 0:
            raise ValueError(f"{self.groups} groups of {self.channels} channels")

    @property
    def width(self):
        return self.channels // self.groups


def statistics_shape(kind, n, l, c, num_groups=None):
    class Kind(str):
        pass

    sizes = dict(n=n, l=l, c=c, g=num_groups)
    letters = {"batch": "c", "layer": "n", "token": "nl", "group": "ng"}.get(kind)
    if letters is None:
        raise NotImplementedError(kind)
    return tuple(sizes[letter] for letter in letters)


class GroupNorm(nn.Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        self.settings = Settings(num_groups, num_channels, eps, affine)
        self.weight = self.bias = None
        if affine:
            del self.weight, self.bias
            self.register_parameter("weight", nn.Parameter(torch.empty(num_channels)))
            self.register_parameter("bias", nn.Parameter(torch.empty(num_channels)))
            self.reset_parameters()
        self.register_forward_pre_hook(_look_at_the_input)

    def reset_parameters(self):
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    @property
    def num_groups(self):
        return self.settings.groups

    @property
    def eps(self):
        return self.settings.eps

    def extra_repr(self):
        return str(self.settings)

    def forward(self, x):
        s = self.settings
        cut = x.unflatten(1, (s.groups, s.width))
        axes = list(range(2, cut.dim()))
        mean = cut.mean(axes, keepdim=True)
        out = cut.sub(mean)
        var = out.square().mean(axes, keepdim=True)
        out = torch.div(out, torch.sqrt(torch.add(var, s.eps))).flatten(1, 2)
        if s.affine:
            out = out.transpose(1, -1).mul(self.weight).add(self.bias).transpose(1, -1)
        return out


def _look_at_the_input(module, args):
    (x,) = args
    if x.dim() < 2 or x.size(1) != module.settings.channels:
        raise ValueError(f"bad input {tuple(x.shape)} for {module}")


class InstanceNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__()
        self.settings = Settings(num_features, num_features, eps, affine)
        self.weight = nn.Parameter(torch.ones(num_features)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_features)) if affine else None

    def forward(self, x):
        if x.dim() != 4:
            raise ValueError("rank")
        if x.size(1) != self.settings.channels:
            raise ValueError("channels")
        if x.size(2) == x.size(3) == 1:
            raise ValueError("one pixel")
        var, mean = torch.var_mean(x, (-2, -1), unbiased=False, keepdim=True)
        y = (x - mean) / (var + self.settings.eps).sqrt()
        if self.settings.affine:
            y = y * self.weight[:, None, None] + self.bias[:, None, None]
        return y


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    s = Settings(num_groups, x.size(1), eps, True)
    cut = x.unflatten(1, (s.groups, s.width)).flatten(3) if x.dim() > 2 else x.unflatten(1, (s.groups, s.width))[..., None]
    dy = grad_out.reshape(cut.shape)
    axes = (2, 3)
    centred = cut - cut.mean(axes, keepdim=True)
    std = torch.sqrt(centred.square().mean(axes, keepdim=True) + eps)
    x_hat = centred / std
    g = dy * weight.reshape(s.groups, s.width, 1)
    slope = (g * x_hat).mean(axes, keepdim=True)
    level = g.mean(axes, keepdim=True)
    dx = (g - (level + slope * x_hat)) / std
    return dx.reshape(x.shape), (dy * x_hat).sum((0, 3)).flatten(), dy.sum((0, 3)).flatten()
