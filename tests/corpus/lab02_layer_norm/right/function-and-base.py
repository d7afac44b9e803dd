import math

import torch
from torch import nn
from torch.autograd import Function


class _Rows(Function):
    """(R, m) rows, one mean and one variance each; weight and bias come later."""

    @staticmethod
    def forward(ctx, rows, eps):
        mu = rows.mean(1, keepdim=True)
        inv = (rows.sub(mu).square().mean(1, keepdim=True) + eps).rsqrt()
        ctx.save_for_backward(rows.sub(mu).mul(inv), inv)
        return rows.sub(mu).mul(inv)

    @staticmethod
    def backward(ctx, g):
        h, inv = ctx.saved_tensors
        return inv * (g - g.mean(1, keepdim=True) - h * (g * h).mean(1, keepdim=True)), None


class _OverLastAxes(nn.Module):
    def __init__(self, normalized_shape, elementwise_affine):
        super().__init__()
        sizes = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self.sizes = tuple(int(s) for s in sizes)
        self.register_parameter("weight", nn.Parameter(torch.ones(self.sizes)) if elementwise_affine else None)

    def rows(self, x):
        return x.reshape(-1, math.prod(self.sizes))


class LayerNorm(_OverLastAxes):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__(normalized_shape, elementwise_affine)
        self.epsilon = eps
        self.register_parameter("bias", nn.Parameter(torch.zeros(self.sizes)) if elementwise_affine else None)

    def forward(self, x):
        if x.ndim < len(self.sizes) or tuple(x.shape)[x.ndim - len(self.sizes) :] != self.sizes:
            raise ValueError(f"{tuple(x.shape)} does not end in {self.sizes}")
        y = _Rows.apply(self.rows(x), self.epsilon).reshape(x.shape)
        return y if self.weight is None else torch.addcmul(self.bias, y, self.weight)


class RMSNorm(_OverLastAxes):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__(normalized_shape, elementwise_affine)
        self.epsilon = eps

    def forward(self, x):
        eps = self.epsilon
        if eps is None:
            eps = torch.finfo(x.dtype).eps
        rows = self.rows(x)
        y = (rows / (rows.pow(2).mean(-1, keepdim=True) + eps).sqrt()).reshape(x.shape)
        return y if self.weight is None else (y * self.weight).to(x.dtype)


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    d = x.size(-1)
    flat, g = x.reshape(-1, d), grad_out.reshape(-1, d)
    centred = flat - flat.mean(1, keepdim=True)
    inv = 1.0 / (centred.pow(2).mean(1, keepdim=True) + eps).sqrt()
    h = centred * inv
    gw = g * weight
    grad_x = inv / d * (d * gw - gw.sum(1, keepdim=True) - h * (gw * h).sum(1, keepdim=True))
    return grad_x.reshape(x.shape), (g * h).sum(0), g.sum(0)
