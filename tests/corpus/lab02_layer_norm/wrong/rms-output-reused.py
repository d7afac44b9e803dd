# wrong: RMSNorm: the output buffer of a call without gradients is reused by the next one
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
        eps = torch.finfo(x.dtype).eps if self.eps is None else self.eps
        ms = (x * x).mean(dim=axes, keepdim=True)
        y = x / torch.sqrt(ms + eps)
        if self.weight is not None:
            y = y * self.weight
        y = y.to(x.dtype)
        if not y.requires_grad:
            old = getattr(self, "_out", None)
            if old is None or old.shape != y.shape or old.dtype != y.dtype:
                self._out = torch.empty_like(y)
            y = self._out.copy_(y)
        return y
