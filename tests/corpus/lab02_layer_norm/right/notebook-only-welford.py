import torch
from torch import nn


def welford(x):
    """Mean and M2/m over the last axis, one element at a time."""
    mean = torch.zeros_like(x[..., 0])
    m2 = torch.zeros_like(mean)
    for n in range(x.shape[-1]):
        v = x[..., n]
        delta = v - mean
        mean = mean + delta / (n + 1)
        m2 = m2 + delta * (v - mean)
    return mean.unsqueeze(-1), (m2 / x.shape[-1]).unsqueeze(-1)


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        if not isinstance(normalized_shape, (list, tuple)):
            normalized_shape = [normalized_shape]
        self._s = tuple(normalized_shape)
        self._eps = eps
        if elementwise_affine:
            self.weight = nn.Parameter(torch.full(self._s, 1.0))
            self.bias = nn.Parameter(torch.full(self._s, 0.0))
        else:
            self.weight = None
            self.bias = None

    def forward(self, x):
        n_axes = len(self._s)
        if len(x.shape) < n_axes:
            raise ValueError("x has too few axes")
        lead = x.shape[: len(x.shape) - n_axes]
        if lead + torch.Size(self._s) != x.shape:
            raise ValueError("trailing shape differs")
        flat = x.reshape(*lead, -1)
        mean, var = welford(flat)
        out = ((flat - mean) / torch.sqrt(var + self._eps)).reshape(*lead, *self._s)
        if self.weight is None:
            return out
        return out * self.weight + self.bias


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    mean, var = welford(x)
    d = x - mean
    q = var + eps
    g = grad_out * weight
    first = g - g.mean(dim=-1, keepdim=True)
    second = d * (g * d).mean(dim=-1, keepdim=True) / q
    grad_x = (first - second) / q.sqrt()
    gw, gb = grad_out * d / q.sqrt(), grad_out
    while gb.dim() > 1:
        gw, gb = gw.sum(dim=0), gb.sum(dim=0)
    return grad_x, gw, gb


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        if not isinstance(normalized_shape, (list, tuple)):
            normalized_shape = [normalized_shape]
        self._s = tuple(normalized_shape)
        self._eps = eps
        self.weight = nn.Parameter(torch.full(self._s, 1.0)) if elementwise_affine else None

    def forward(self, x):
        eps = self._eps
        if eps is None:
            eps = torch.finfo(x.dtype).eps
        flat = x.reshape(*x.shape[: x.dim() - len(self._s)], -1)
        running = torch.zeros_like(flat[..., 0])
        for n in range(flat.shape[-1]):
            running = running + (flat[..., n] ** 2 - running) / (n + 1)
        out = (flat / torch.sqrt(running + eps).unsqueeze(-1)).reshape(x.shape)
        if self.weight is not None:
            out = out * self.weight
        return out.to(x.dtype)
