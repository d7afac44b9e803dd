import torch
from torch import nn


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    D = x.shape[-1]
    c = x - x.mean(-1, keepdim=True)
    q = c.square().mean(-1, keepdim=True) + eps
    g = grad_out * weight
    dv = (-0.5 * g * c * q ** -1.5).sum(-1, keepdim=True)
    dc = g * q ** -0.5 + dv * 2 * c / D
    lead = tuple(range(x.dim() - 1))
    return dc - dc.mean(-1, keepdim=True), (grad_out * c * q ** -0.5).sum(lead), grad_out.sum(lead)


class _Rows(torch.autograd.Function):
    """Rows (N, M), weight and bias (M,): its backward is the function above."""

    @staticmethod
    def forward(ctx, rows, weight, bias, eps):
        ctx.save_for_backward(rows, weight)
        ctx.eps = eps
        c = rows - rows.mean(1, keepdim=True)
        return c / (c.square().mean(1, keepdim=True) + eps).sqrt() * weight + bias

    @staticmethod
    def backward(ctx, dy):
        return (*layer_norm_backward(dy, *ctx.saved_tensors, eps=ctx.eps), None)


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        self.normalized_shape = torch.Size((normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.weight = nn.Parameter(torch.ones(self.normalized_shape)) if elementwise_affine else None
        self.bias = nn.Parameter(torch.zeros(self.normalized_shape)) if elementwise_affine else None

    def forward(self, x):
        if x.shape[-len(self.normalized_shape):] != self.normalized_shape:
            raise ValueError("trailing shape")
        m = self.normalized_shape.numel()
        w = self.weight.reshape(m) if self.elementwise_affine else x.new_ones(m)
        b = self.bias.reshape(m) if self.elementwise_affine else x.new_zeros(m)
        return _Rows.apply(x.reshape(-1, m), w, b, self.eps).reshape(x.shape)


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
