import math
import torch
from torch import nn
import torch.nn.functional as F


class _Renorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, mean, sigma, r, d, dims):
        z = (x - mean) / sigma
        ctx.save_for_backward(z, weight, sigma, r, d)
        ctx.dims = dims
        return weight * (z * r + d) + bias

    @staticmethod
    def backward(ctx, grad):
        z, weight, sigma, r, d = ctx.saved_tensors
        dims = ctx.dims
        gx = gw = gb = None
        if ctx.needs_input_grad[0]:
            h = grad * weight * r
            gx = (h - h.mean(dims, keepdim=True) - z * (h * z).mean(dims, keepdim=True)) / sigma
        if ctx.needs_input_grad[1]:
            gw = (grad * (z * r + d)).sum(dims, keepdim=True)
        if ctx.needs_input_grad[2]:
            gb = grad.sum(dims, keepdim=True)
        return gx, gw, gb, None, None, None, None, None


class BatchRenorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.r_max, self.d_max = r_max, d_max
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_std", torch.ones(num_features))

    def forward(self, x):
        if x.ndim == 2:
            shape, dims = (1, -1), (0,)
        elif x.ndim == 3:
            shape, dims = (1, -1, 1), (0, 2)
        else:
            raise ValueError("expected (N, C) or (N, C, L)")
        if x.size(1) != self.num_features:
            raise ValueError("wrong number of channels")
        w, b = self.weight.reshape(shape), self.bias.reshape(shape)
        if not self.training:
            return (w * ((x - self.running_mean.reshape(shape)) / self.running_std.reshape(shape)) + b).to(x.dtype)
        m = 1
        for axis in dims:
            m *= x.size(axis)
        if m == 1:
            raise ValueError("one value per channel")
        with torch.no_grad():
            mean = x.mean(dims, keepdim=True)
            sigma = ((x - mean).square().mean(dims, keepdim=True) + self.eps).sqrt()
            old_mean, old_std = self.running_mean.reshape(shape), self.running_std.reshape(shape)
            r = torch.clamp(sigma / old_std, min=1 / self.r_max, max=self.r_max)
            d = torch.clamp((mean - old_mean) / old_std, min=-self.d_max, max=self.d_max)
        y = _Renorm.apply(x, w, b, mean, sigma, r, d, dims)
        with torch.no_grad():
            self.running_mean.lerp_(mean.flatten().to(self.running_mean.dtype), self.momentum)
            self.running_std.lerp_(sigma.flatten().to(self.running_std.dtype), self.momentum)
        return y.to(x.dtype)


class _WN(torch.autograd.Function):
    @staticmethod
    def forward(ctx, g, v):
        length = torch.sqrt((v * v).sum(dim=1, keepdim=True))
        u = v / length
        ctx.save_for_backward(g, u, length)
        return g * u

    @staticmethod
    def backward(ctx, grad_w):
        g, u, length = ctx.saved_tensors
        grad_g = (grad_w * u).sum(dim=1, keepdim=True)
        grad_v = g / length * (grad_w - grad_g * u)
        return grad_g, grad_v


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        start = nn.Linear(in_features, out_features, bias=bias)
        v = start.weight.detach().clone()
        self.weight_g = nn.Parameter((v * v).sum(1, keepdim=True).sqrt())
        self.weight_v = nn.Parameter(v)
        if bias:
            self.bias = nn.Parameter(start.bias.detach().clone())
        else:
            self.bias = None

    @property
    def weight(self):
        return _WN.apply(self.weight_g, self.weight_v)

    def forward(self, x):
        out = torch.matmul(x, self.weight.t())
        return out if self.bias is None else out + self.bias
