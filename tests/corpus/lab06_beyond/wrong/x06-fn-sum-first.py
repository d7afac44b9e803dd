# wrong: WeightNormLinear: rank 4: the gradient of the weight is of the first slice only
import math
import torch
from torch import nn
import torch.nn.functional as F


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, g, v, owner):
        length = v.pow(2).sum(1, keepdim=True).sqrt()
        u = v / length
        ctx.save_for_backward(x, g, u, length)
        ctx.owner = owner
        return x @ (g * u).T

    @staticmethod
    def parts(x, g, u, length, grad):
        grad_w = grad.flatten(0, -2).T @ x.flatten(0, -2)
        grad_g = (grad_w * u).sum(1, keepdim=True)
        return grad_g, g / length * (grad_w - grad_g * u)

    @staticmethod
    def backward(ctx, grad):
        x, g, u, length = ctx.saved_tensors
        if x.dim() == 4:
            x, grad_all, grad = x[:1], grad, grad[:1]
            return grad_all @ (g * u), *_Linear.parts(x, g, u, length, grad), None
        grad_x = grad @ (g * u)
        grad_w = grad.reshape(-1, grad.shape[-1]).T @ x.reshape(-1, x.shape[-1])
        grad_g = (grad_w * u).sum(1, keepdim=True)
        grad_v = g / length * (grad_w - grad_g * u)
        return grad_x, grad_g, grad_v, None


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        bound = 1 / math.sqrt(in_features)
        v = torch.empty(out_features, in_features).uniform_(-bound, bound)
        self.weight_v = nn.Parameter(v)
        self.weight_g = nn.Parameter(v.pow(2).sum(1, keepdim=True).sqrt())
        if bias:
            self.bias = nn.Parameter(torch.empty(out_features).uniform_(-bound, bound))
        else:
            self.register_parameter("bias", None)

    def forward(self, x):
        y = _Linear.apply(x, self.weight_g, self.weight_v, self)
        if self.bias is not None:
            y = y + self.bias
        return y
