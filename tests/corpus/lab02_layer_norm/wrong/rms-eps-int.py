# wrong: RMSNorm: an eps that is an int (0 or 1) is taken for None
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(int(s) for s in normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = nn.Parameter(torch.ones(self.normalized_shape))
        else:
            self.register_parameter("weight", None)

    def forward(self, x):
        axes = tuple(range(-len(self.normalized_shape), 0))
        eps = torch.finfo(x.dtype).eps if not isinstance(self.eps, float) else self.eps
        ms = (x * x).mean(dim=axes, keepdim=True)
        y = x / torch.sqrt(ms + eps)
        if self.weight is not None:
            y = y * self.weight
        return y.to(x.dtype)
