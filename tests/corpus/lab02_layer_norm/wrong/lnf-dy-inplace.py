# wrong: LayerNorm: upstream gradient multiplied by the weight in place when it is contiguous and x wants a gradient
import torch
from torch import nn


class LayerNormFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, k, eps):
        axes = tuple(range(-k, 0))
        mean = x.mean(axes, keepdim=True)
        centred = x - mean
        inv = 1 / torch.sqrt(centred.square().mean(axes, keepdim=True) + eps)
        x_hat = centred * inv
        ctx.save_for_backward(x_hat, inv, weight)
        ctx.axes = axes
        if weight is None:
            return x_hat.clone()
        return x_hat * weight + bias

    @staticmethod
    def backward(ctx, dy):
        x_hat, inv, weight = ctx.saved_tensors
        axes = ctx.axes
        lead = tuple(range(dy.dim() - len(axes)))
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[1]:
            grad_weight = (dy * x_hat).sum(lead) if lead else dy * x_hat
        if ctx.needs_input_grad[2]:
            grad_bias = dy.sum(lead) if lead else dy.clone()
        if ctx.needs_input_grad[0]:
            g = dy if weight is None else (dy.mul_(weight) if dy.is_contiguous() else dy * weight)
            grad_x = inv * (g - g.mean(axes, keepdim=True) - x_hat * (g * x_hat).mean(axes, keepdim=True))
        return grad_x, grad_weight, grad_bias, None, None



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
        return LayerNormFunction.apply(x, self.weight, self.bias, k, self.eps)
