import math
import torch
from torch import nn


def _rows(x, m):
    return [row for row in x.reshape(-1, m)]


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super(LayerNorm, self).__init__()
        self.shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self.e = eps
        self.weight = self.bias = None
        if elementwise_affine:
            self.weight = nn.Parameter(torch.ones(*self.shape))
            self.bias = nn.Parameter(torch.zeros(*self.shape))

    def forward(self, x):
        k = len(self.shape)
        if x.ndim < k:
            raise ValueError("too few axes")
        for want, got in zip(reversed(self.shape), reversed(x.shape)):
            if want != got:
                raise ValueError(f"wanted {want}, got {got}")
        m = math.prod(self.shape)
        out = []
        for row in _rows(x, m):
            mu = row.sum() / m
            d = row - mu
            v = (d ** 2).sum() / m
            out.append(d / (v + self.e) ** 0.5)
        y = torch.stack(out).reshape(x.shape)
        if self.weight is not None:
            y = self.weight * y + self.bias
        return y


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    D = x.shape[-1]
    rows_x, rows_g = x.reshape(-1, D), grad_out.reshape(-1, D)
    gx, gw, gb = [], torch.zeros_like(rows_x[0]), torch.zeros_like(rows_x[0])
    for r, g in zip(rows_x, rows_g):
        mu = r.sum() / D
        d = r - mu
        s = ((d * d).sum() / D + eps) ** 0.5
        h = d / s
        p = g * weight
        gx.append((p - p.sum() / D - h * (p * h).sum() / D) / s)
        gw = gw + g * h
        gb = gb + g
    return torch.stack(gx).reshape(x.shape), gw, gb


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super(RMSNorm, self).__init__()
        self.shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self.e = eps
        self.weight = nn.Parameter(torch.ones(*self.shape)) if elementwise_affine else None

    def forward(self, x):
        e = torch.finfo(x.dtype).eps if self.e is None else self.e
        m = math.prod(self.shape)
        y = torch.stack([r / (torch.dot(r, r) / m + e).sqrt() for r in _rows(x, m)]).reshape(x.shape)
        if self.weight is not None:
            y = y * self.weight
        return y.type(x.dtype)
