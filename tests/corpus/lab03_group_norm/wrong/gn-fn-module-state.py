# wrong: GroupNorm: own Function keeps x_hat in the layer: a second call before backward spoils the first
import torch
from torch import nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, groups, eps, store):
        rows = x.reshape(x.shape[0], groups, -1)
        mean = rows.mean(2, keepdim=True)
        inv = ((rows - mean).square().mean(2, keepdim=True) + eps).rsqrt()
        x_hat = (rows - mean) * inv
        shape = (1, -1) + (1,) * (x.dim() - 2)
        ctx.shape = shape
        store['saved'] = (x_hat.detach(), inv.detach())
        ctx.store, ctx.w = store, weight
        return x_hat.reshape(x.shape) * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, dy):
        (x_hat, inv), weight = ctx.store['saved'], ctx.w
        axes = [a for a in range(dy.dim()) if a != 1]
        dw, db = (dy * x_hat.reshape(dy.shape)).sum(axes), dy.sum(axes)
        g = (dy * weight.view(ctx.shape)).reshape(x_hat.shape)
        dx = inv * (g - g.mean(2, keepdim=True) - x_hat * (g * x_hat).mean(2, keepdim=True))
        return dx.reshape(dy.shape), dw, db, None, None, None


class GroupNorm(nn.Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError("num_channels must be divisible by num_groups")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        if affine:
            self.weight = nn.Parameter(torch.ones(num_channels))
            self.bias = nn.Parameter(torch.zeros(num_channels))
        else:
            self.register_parameter("weight", None)
            self.register_parameter("bias", None)

    def forward(self, x):
        if x.dim() < 2:
            raise ValueError("at least two axes")
        if x.shape[1] != self.num_channels:
            raise ValueError("wrong number of channels")
        if self.affine:
            return Scale.apply(x, self.weight, self.bias, self.num_groups, self.eps, self.__dict__)
        rows = x.reshape(x.shape[0], self.num_groups, -1)
        mean = rows.mean(dim=2, keepdim=True)
        var = ((rows - mean) ** 2).mean(dim=2, keepdim=True)
        x_hat = (rows - mean) / torch.sqrt(var + self.eps)
        y = x_hat.reshape(x.shape)
        if self.weight is not None:
            shape = (1, -1) + (1,) * (x.dim() - 2)
            y = y * self.weight.view(shape) + self.bias.view(shape)
        return y
