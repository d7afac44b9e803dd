from functools import partial

import torch
from torch import nn


def statistics_shape(kind, n, l, c, num_groups=None):
    if kind not in ("batch", "layer", "token", "group"):
        raise ValueError(f"unknown kind: {kind}")
    first = c if kind == "batch" else n
    rest = {"token": (l,), "group": (num_groups,)}.get(kind, ())
    return (first, *rest)


def _normalize(piece, eps):
    """One group (N, C / G, *) of all samples."""
    axes = tuple(range(1, piece.dim()))
    std, mean = torch.std_mean(piece.detach(), dim=axes, correction=0, keepdim=True)
    del std
    mean = piece.mean(dim=axes, keepdim=True)
    centred = piece - mean
    return centred * (centred.pow(2).mean(dim=axes, keepdim=True) + eps).rsqrt()


class GroupNorm(nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()

        def parse(num_groups, num_channels, eps=1e-5, affine=True):
            return num_groups, num_channels, eps, affine

        self.num_groups, self.num_channels, eps, affine = parse(*args, **kwargs)
        if self.num_channels % self.num_groups:
            raise ValueError("the groups do not fit")
        self.normalize = partial(_normalize, eps=eps)
        for name, start in (("weight", 1.0), ("bias", 0.0)):
            self.register_parameter(name, nn.Parameter(torch.full((self.num_channels,), start)) if affine else None)

    def forward(self, x):
        if x.dim() < 2:
            raise ValueError("rank")
        if x.shape[1] != self.num_channels:
            raise ValueError("channels")
        y = torch.cat([self.normalize(p) for p in x.chunk(self.num_groups, dim=1)], dim=1)
        if self.weight is None:
            return y
        grow = (slice(None),) + (None,) * (x.dim() - 2)
        return y * self.weight[grow] + self.bias[grow]


class InstanceNorm2d(GroupNorm):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__(num_features, num_features, eps=eps, affine=affine)

    def forward(self, x):
        if x.dim() != 4 or x.shape[2:].numel() == 1:
            raise ValueError("images of more than one pixel, please")
        return super().forward(x)


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    grow = (slice(None),) + (None,) * (x.dim() - 2)
    axes = tuple(range(1, x.dim()))
    channel_axes = (0,) + axes[1:]
    dx, dw, db = [], [], []
    for piece, dy, w in zip(*(t.chunk(num_groups, d) for t, d in ((x, 1), (grad_out, 1), (weight, 0)))):
        d = piece - piece.mean(axes, keepdim=True)
        inv = (d.pow(2).mean(axes, keepdim=True) + eps).rsqrt()
        g = dy * w[grow]
        a = g - g.mean(axes, keepdim=True)
        dx.append(inv * a - inv.pow(3) * d * (a * d).mean(axes, keepdim=True))
        dw.append((dy * d * inv).sum(channel_axes))
        db.append(dy.sum(channel_axes))
    return torch.cat(dx, 1), torch.cat(dw), torch.cat(db)
