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
        dtype, x = x.dtype, x.float()
        mean = x.mean(dim=axes, keepdim=True)
        centred = x - mean
        var = (centred * centred).mean(dim=axes, keepdim=True)
        y = centred / torch.sqrt(var + self.eps)
        if self.weight is not None:
            y = y * self.weight + self.bias
        return y.to(dtype)


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    dtype = x.dtype
    grad_out, x, weight = grad_out.float(), x.float(), weight.float()
    mean = x.mean(-1, keepdim=True)
    centred = x - mean
    var = (centred * centred).mean(-1, keepdim=True)
    inv = 1 / torch.sqrt(var + eps)
    x_hat = centred * inv
    g = grad_out * weight
    grad_x = inv * (g - g.mean(-1, keepdim=True) - x_hat * (g * x_hat).mean(-1, keepdim=True))
    axes = tuple(range(x.dim() - 1))
    grad_weight = (grad_out * x_hat).sum(axes)
    grad_bias = grad_out.sum(axes)
    return grad_x.to(dtype), grad_weight.to(dtype), grad_bias.to(dtype)


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
        dtype, x = x.dtype, x.float()
        ms = (x * x).mean(dim=axes, keepdim=True)
        y = x / torch.sqrt(ms + eps)
        if self.weight is not None:
            y = y * self.weight
        return y.to(dtype)
