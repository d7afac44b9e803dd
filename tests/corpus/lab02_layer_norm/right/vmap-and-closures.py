from functools import partial

import torch
from torch import nn
from torch.func import vmap


def standardize(row, eps):
    c = row - row.mean()
    return c / (c.dot(c) / c.numel() + eps).sqrt()


def unit_power(row, eps):
    return row / (row.dot(row) / row.numel() + eps).sqrt()


def by_sets(f, x, k):
    lead, last = x.shape[: x.dim() - k], x.shape[x.dim() - k :]
    return vmap(f)(x.reshape(lead.numel(), last.numel())).reshape(x.shape)


def numbers(shape):
    return (shape,) if isinstance(shape, int) else tuple(shape)


class LayerNorm(nn.Module):
    weight: nn.Parameter | None
    bias: nn.Parameter | None

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        self._shape = numbers(normalized_shape)
        self._how = partial(standardize, eps=eps)
        make = (lambda f: nn.Parameter(f(self._shape))) if elementwise_affine else (lambda f: None)
        self.weight, self.bias = make(torch.ones), make(torch.zeros)

    def forward(self, x):
        k = len(self._shape)
        match tuple(x.shape):
            case shape if len(shape) >= k and shape[len(shape) - k :] == self._shape:
                x_hat = by_sets(self._how, x, k)
            case shape:
                raise ValueError(f"{shape} should end in {self._shape}")
        return x_hat if self.weight is None else torch.lerp(self.bias, self.bias + self.weight, x_hat)


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        self._shape = numbers(normalized_shape)
        self._eps = eps
        self.weight = nn.Parameter(torch.ones(self._shape)) if elementwise_affine else None

    def forward(self, x):
        eps = torch.finfo(x.dtype).eps if self._eps is None else self._eps
        y = by_sets(partial(unit_power, eps=eps), x, len(self._shape))
        return y if self.weight is None else y.mul(self.weight).to(dtype=x.dtype)


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    def row(g, r):
        c = r - r.mean()
        inv = (c.dot(c) / len(c) + eps) ** -0.5
        h = c * inv
        a = g * weight
        return inv * (a - a.mean() - h * a.dot(h) / len(c)), g * h

    d = x.shape[-1]
    gx, gh = vmap(row)(grad_out.reshape(-1, d), x.reshape(-1, d))
    return gx.reshape(x.shape), gh.sum(0), grad_out.reshape(-1, d).sum(0)
