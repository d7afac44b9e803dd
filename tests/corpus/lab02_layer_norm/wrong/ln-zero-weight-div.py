# wrong: LayerNorm: bias divided by weight and multiplied back: NaN where the weight is 0
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(int(s) for s in normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = nn.Parameter(torch.ones(self.normalized_shape))
            self.bias = nn.Parameter(torch.zeros(self.normalized_shape))
        else:
            self.register_parameter("weight", None)
            self.register_parameter("bias", None)

    def forward(self, x):
        k = len(self.normalized_shape)
        if x.dim() < k or tuple(x.shape[-k:]) != self.normalized_shape:
            raise ValueError(f"expected trailing shape {self.normalized_shape}, got {tuple(x.shape)}")
        axes = tuple(range(-k, 0))
        mean = x.mean(dim=axes, keepdim=True)
        centred = x - mean
        var = (centred * centred).mean(dim=axes, keepdim=True)
        y = centred / torch.sqrt(var + self.eps)
        if self.weight is not None:
            y = (y + self.bias / self.weight) * self.weight
        return y
