# wrong: LayerNorm: under-no-grad-when-frozen
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        shape = self.normalized_shape
        self.weight = nn.Parameter(torch.ones(shape)) if elementwise_affine else None
        self.bias = nn.Parameter(torch.zeros(shape)) if elementwise_affine else None

    def forward(self, x):
        k = len(self.normalized_shape)
        if tuple(x.shape[-k:]) != self.normalized_shape:
            raise ValueError(f"the last axes must be {self.normalized_shape}, got {tuple(x.shape)}")
        axes = tuple(range(-k, 0))
        mean = x.mean(dim=axes, keepdim=True)
        var = ((x - mean) ** 2).mean(dim=axes, keepdim=True)
        x_hat = (x - mean) / torch.sqrt(var + self.eps)
        if self.weight is None:
            return x_hat
        if not self.weight.requires_grad:
            return self.weight * x_hat.detach() + self.bias
        return self.weight * x_hat + self.bias
