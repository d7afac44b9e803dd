# wrong: RMSNorm: rms-in-place
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        shape = self.normalized_shape
        self.weight = nn.Parameter(torch.ones(shape)) if elementwise_affine else None

    def forward(self, x):
        axes = tuple(range(-len(self.normalized_shape), 0))
        eps = self.eps
        if eps is None:
            eps = torch.finfo(x.dtype).eps
        mean_square = (x**2).mean(dim=axes, keepdim=True)
        x_hat = x.mul_(torch.rsqrt(mean_square + eps)) if not x.requires_grad else x / torch.sqrt(mean_square + eps)
        if self.weight is None:
            return x_hat
        y = self.weight * x_hat
        return y.to(x.dtype)
