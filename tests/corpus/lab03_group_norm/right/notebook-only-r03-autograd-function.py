import torch
from torch import nn


def statistics_shape(kind, n, l, c, num_groups=None):
    match kind:
        case "batch":
            return (c,)
        case "layer":
            return (n,)
        case "token":
            return n, l
        case "group":
            return n, num_groups
    raise ValueError(f"kind is {kind!r}")


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    n, c = x.shape[:2]
    rows = x.reshape(n, num_groups, c // num_groups, -1)
    dy = grad_out.reshape(n, num_groups, c // num_groups, -1)
    var, mean = torch.var_mean(rows, dim=(2, 3), correction=0, keepdim=True)
    inv = torch.rsqrt(var + eps)
    x_hat = (rows - mean) * inv
    g = dy * weight.reshape(1, num_groups, -1, 1)
    dx = inv * (g - g.mean((2, 3), keepdim=True) - x_hat * (g * x_hat).mean((2, 3), keepdim=True))
    return dx.reshape(x.shape), (dy * x_hat).sum((0, 3)).reshape(c), dy.sum((0, 3)).reshape(c)


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, groups, eps):
        ctx.groups, ctx.eps = groups, eps
        ctx.save_for_backward(x, weight)
        n, c = x.shape[:2]
        rows = x.reshape(n, groups, c // groups, -1)
        var, mean = torch.var_mean(rows, dim=(2, 3), correction=0, keepdim=True)
        y = (rows - mean) * torch.rsqrt(var + eps)
        y = y * weight.reshape(1, groups, -1, 1) + bias.reshape(1, groups, -1, 1)
        return y.reshape(x.shape)

    @staticmethod
    def backward(ctx, dy):
        x, weight = ctx.saved_tensors
        dx, dw, db = group_norm_backward(dy, x, ctx.groups, weight, ctx.eps)
        need = ctx.needs_input_grad
        return (dx if need[0] else None, dw if need[1] else None, db if need[2] else None, None, None)


class GroupNorm(nn.Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"{num_channels} channels in {num_groups} groups")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        if affine:
            self.weight = nn.Parameter(torch.ones(num_channels))
            self.bias = nn.Parameter(torch.zeros(num_channels))
        else:
            self.register_parameter("weight", None)
            self.register_parameter("bias", None)

    def forward(self, x):
        if x.dim() < 2 or x.size(1) != self.num_channels:
            raise ValueError(f"got {tuple(x.shape)}")
        weight = x.new_ones(self.num_channels) if self.weight is None else self.weight
        bias = x.new_zeros(self.num_channels) if self.bias is None else self.bias
        return _Norm.apply(x, weight, bias, self.num_groups, self.eps)


class InstanceNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        if affine:
            self.weight = nn.Parameter(torch.ones(num_features))
            self.bias = nn.Parameter(torch.zeros(num_features))
        else:
            self.register_parameter("weight", None)
            self.register_parameter("bias", None)

    def forward(self, x):
        if x.dim() != 4:
            raise ValueError("images wanted")
        if x.size(1) != self.num_features:
            raise ValueError("channels")
        if x.size(2) * x.size(3) == 1:
            raise ValueError("one pixel")
        weight = x.new_ones(self.num_features) if self.weight is None else self.weight
        bias = x.new_zeros(self.num_features) if self.bias is None else self.bias
        return _Norm.apply(x, weight, bias, self.num_features, self.eps)
