# wrong: GroupNorm: without affine the output of float32 is float64
import torch
from torch import nn


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
        rows = x.double().reshape(x.shape[0], self.num_groups, -1)
        mean = rows.mean(dim=2, keepdim=True)
        var = ((rows - mean) ** 2).mean(dim=2, keepdim=True)
        x_hat = (rows - mean) / torch.sqrt(var + self.eps)
        y = x_hat.reshape(x.shape)
        if self.weight is not None:
            shape = (1, -1) + (1,) * (x.dim() - 2)
            y = y * self.weight.view(shape) + self.bias.view(shape)
        return y.to(x.dtype) if self.affine else y
