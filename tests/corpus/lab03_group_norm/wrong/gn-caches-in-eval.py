# wrong: GroupNorm: gn-caches-in-eval
import torch
from torch import nn


class GroupNorm(nn.Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"{num_groups} groups do not divide {num_channels} channels")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(num_channels)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_channels)) if affine else None

    def forward(self, x):
        if x.dim() < 2:
            raise ValueError(f"expected (N, C, *), got {tuple(x.shape)}")
        if x.shape[1] != self.num_channels:
            raise ValueError(f"expected {self.num_channels} channels, got {x.shape[1]}")
        groups = self.num_groups
        grouped = x.reshape(x.shape[0], groups, -1)
        mean = grouped.mean(dim=2, keepdim=True)
        if not self.training:
            kept = self.__dict__.setdefault('m', mean)
            mean = kept if kept.shape == mean.shape else mean
        var = ((grouped - mean) ** 2).mean(dim=2, keepdim=True)
        x_hat = (grouped - mean) / torch.sqrt(var + self.eps)
        x_hat = x_hat.reshape(x.shape)
        if self.weight is None:
            return x_hat
        shape = [1, -1] + [1] * (x.dim() - 2)
        return self.weight.view(shape) * x_hat + self.bias.view(shape)
