import torch
from torch import nn
from torch.autograd import Function


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    r = torch.rsqrt(var + eps)
    h = (x - mean) * r
    g = weight * grad_out
    gx = r * (g - g.mean(-1, keepdim=True) - h * (g * h).mean(-1, keepdim=True))
    gw = torch.einsum("nd,nd->d", grad_out.flatten(0, -2), h.flatten(0, -2))
    gb = torch.einsum("nd->d", grad_out.flatten(0, -2))
    return gx, gw, gb


class LNFunction(Function):
    @staticmethod
    def forward(ctx, x, weight, bias, k, eps):
        axes = tuple(range(-k, 0))
        var, mean = torch.var_mean(x, axes, correction=0, keepdim=True)
        r = torch.rsqrt(var + eps)
        h = (x - mean) * r
        ctx.save_for_backward(h, r, weight)
        ctx.axes = axes
        return h if weight is None else h * weight + bias

    @staticmethod
    def backward(ctx, dy):
        h, r, weight = ctx.saved_tensors
        lead = tuple(range(dy.dim() - len(ctx.axes)))
        gx = gw = gb = None
        if ctx.needs_input_grad[0]:
            g = dy if weight is None else dy * weight
            gx = r * (g - g.mean(ctx.axes, True) - h * (g * h).mean(ctx.axes, True))
        if ctx.needs_input_grad[1]:
            gw = (dy * h).sum(lead) if lead else dy * h
        if ctx.needs_input_grad[2]:
            gb = dy.sum(lead) if lead else dy.clone()
        return gx, gw, gb, None, None


class RMSFunction(Function):
    @staticmethod
    def forward(ctx, x, k, eps):
        axes = tuple(range(-k, 0))
        r = torch.rsqrt(x.square().mean(axes, keepdim=True) + eps)
        ctx.save_for_backward(x, r)
        ctx.axes = axes
        return x * r

    @staticmethod
    def backward(ctx, g):
        x, r = ctx.saved_tensors
        h = x * r
        return r * (g - h * (g * h).mean(ctx.axes, True)), None, None


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        self.normalized_shape = torch.Size([normalized_shape] if isinstance(normalized_shape, int) else normalized_shape)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(self.normalized_shape)) if elementwise_affine else None
        self.bias = nn.Parameter(torch.zeros(self.normalized_shape)) if elementwise_affine else None

    def forward(self, x):
        k = len(self.normalized_shape)
        if x.shape[-k:] != self.normalized_shape:
            raise ValueError("bad shape")
        return LNFunction.apply(x, self.weight, self.bias, k, self.eps)


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        self.normalized_shape = torch.Size([normalized_shape] if isinstance(normalized_shape, int) else normalized_shape)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(self.normalized_shape)) if elementwise_affine else None

    def forward(self, x):
        eps = self.eps if self.eps is not None else torch.finfo(x.dtype).eps
        y = RMSFunction.apply(x, len(self.normalized_shape), eps)
        return y if self.weight is None else (y * self.weight).to(x.dtype)
