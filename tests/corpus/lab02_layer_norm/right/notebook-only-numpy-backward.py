import numpy as np
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
            y = y * self.weight + self.bias
        return y


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    """By numpy, in float64."""
    a, g, w = (t.detach().cpu().numpy().astype(np.float64) for t in (x, grad_out, weight))
    c = a - a.mean(axis=-1, keepdims=True)
    s = np.sqrt((c * c).mean(axis=-1, keepdims=True) + eps)
    h, p = c / s, g * w
    gx = (p - p.mean(axis=-1, keepdims=True) - h * (p * h).mean(axis=-1, keepdims=True)) / s
    lead = tuple(range(a.ndim - 1))
    return [torch.from_numpy(np.ascontiguousarray(r)).to(x) for r in (gx, (g * h).sum(axis=lead), g.sum(axis=lead))]


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
        return y.to(x.dtype)
