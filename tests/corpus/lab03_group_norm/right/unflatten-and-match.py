from math import prod

import torch
from torch import nn


def _hat(x, dims, eps):
    centred = x - x.mean(dims, True)
    power = torch.linalg.vector_norm(centred, dim=dims, keepdim=True).square() / prod(x.shape[d] for d in dims)
    return centred * (power + eps).pow(-0.5)


class GroupNorm(nn.Module):
    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True) -> None:
        super().__init__()
        each, left = divmod(num_channels, num_groups)
        if left:
            raise ValueError(f"{num_channels} / {num_groups}")
        self._cut, self._eps = (num_groups, each), eps
        for name, start in {"weight": torch.ones, "bias": torch.zeros}.items():
            setattr(self, name, nn.Parameter(start(num_channels)) if affine else None)

    def forward(self, x):
        if x.ndim < 2:
            raise IndexError("no channels")
        if x.shape[1] != prod(self._cut):
            raise TypeError("these are not my channels")
        y = x.unflatten(1, self._cut)
        y = _hat(y, tuple(range(2, y.ndim)), self._eps).flatten(1, 2)
        if self.weight is not None:
            y = (y.movedim(1, -1) * self.weight + self.bias).movedim(-1, 1)
        return y


class InstanceNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__()
        self._c, self._eps = num_features, eps
        self.weight, self.bias = (
            (nn.Parameter(torch.ones(num_features)), nn.Parameter(torch.zeros(num_features))) if affine else (None, None)
        )

    def forward(self, x):
        match list(x.shape):
            case [_, c, h, w] if c == self._c and h * w > 1:
                y = _hat(x, (2, 3), self._eps)
            case shape:
                raise ValueError(f"not for me: {shape}")
        if self.weight is None:
            return y
        return (y.permute(0, 2, 3, 1) * self.weight + self.bias).permute(0, 3, 1, 2)


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    channels_last = lambda t: t.movedim(1, -1)  # noqa: E731
    cut = (num_groups, x.shape[1] // num_groups)
    sets = x.unflatten(1, cut)
    dims = tuple(range(2, sets.ndim))
    h = _hat(sets, dims, eps)
    a = (channels_last(grad_out) * weight).movedim(-1, 1).unflatten(1, cut)
    centred = sets - sets.mean(dims, True)
    inv = 1 / (centred.square().mean(dims, True) + eps).sqrt()
    grad_x = (inv * (a - a.mean(dims, True) - h * (a * h).mean(dims, True))).flatten(1, 2)
    c = x.shape[1]
    grad_weight = channels_last(grad_out * h.flatten(1, 2)).reshape(-1, c).sum(0)
    return grad_x, grad_weight, channels_last(grad_out).reshape(-1, c).sum(0)


def statistics_shape(kind, n, l, c, num_groups=None):
    match kind:
        case "batch":
            return (c,)
        case "layer":
            return (n,)
        case "token":
            return n, l
        case "group":
            return n, num_groups
        case _:
            raise LookupError(kind)
