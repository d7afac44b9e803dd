"""The honest layer that is a torch.autograd.Function with a backward pass written by hand, and the mistakes' starting point."""

from __future__ import annotations

FUNCTION = '''\
import torch
from torch import nn


class _Normalize(torch.autograd.Function):
    """x -> weight * x_hat + bias, with statistics of groups."""

    @staticmethod
    def forward(ctx, x, weight, bias, groups, eps):
        shape = (1, -1) + (1,) * (x.dim() - 2)
        rows = x.reshape(x.shape[0] * groups, -1)
        var, mean = torch.var_mean(rows, dim=1, correction=0, keepdim=True)
        inv_std = torch.rsqrt(var + eps)
        x_hat = (rows - mean) * inv_std
        ctx.save_for_backward(x_hat, inv_std, weight)
        y = x_hat.reshape(x.shape)
        return y.clone() if weight is None else y * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad_out):
        x_hat, inv_std, weight = ctx.saved_tensors
        shape = (1, -1) + (1,) * (grad_out.dim() - 2)
        axes = [axis for axis in range(grad_out.dim()) if axis != 1]
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[1]:
            grad_weight = (grad_out * x_hat.reshape(grad_out.shape)).sum(axes)
        if ctx.needs_input_grad[2]:
            grad_bias = grad_out.sum(axes)
        if ctx.needs_input_grad[0]:
            grad = grad_out if weight is None else grad_out * weight.view(shape)
            grad = grad.reshape(x_hat.shape)
            along = (grad * x_hat).mean(dim=1, keepdim=True)
            grad_x = (grad - grad.mean(dim=1, keepdim=True) - x_hat * along) * inv_std
            grad_x = grad_x.reshape(grad_out.shape)
        return grad_x, grad_weight, grad_bias, None, None


class GroupNorm(nn.Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"{num_channels} / {num_groups} is no whole number")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = nn.Parameter(torch.ones(num_channels)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_channels)) if affine else None

    def forward(self, x):
        if x.dim() < 2 or x.shape[1] != self.num_channels:
            raise ValueError(f"{tuple(x.shape)} has no {self.num_channels} channels on axis 1")
        return _Normalize.apply(x, self.weight, self.bias, self.num_groups, self.eps)
'''
