# wrong: WeightNormLinear: W made in float64 leaves a float64 output for float32 inputs of rank 1
import math
import torch
from torch import nn
import torch.nn.functional as F


class _Train(torch.autograd.Function):
    """x (C, m); statistics and both gradients by hand, the sums written out."""

    @staticmethod
    def forward(ctx, x, weight, bias, r, d, mean, sigma):
        z = x.sub(mean).div_(sigma)
        ctx.save_for_backward(z, weight, r, d, sigma)
        return z.mul(r).add_(d).mul_(weight).add_(bias)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        z, weight, r, d, sigma = ctx.saved_tensors
        m = z.shape[1]
        s0 = g.sum(1, keepdim=True)
        s1 = (g * z).sum(1, keepdim=True)
        gx = weight * r / (m * sigma) * (m * g - s0 - z * s1) if ctx.needs_input_grad[0] else None
        gw = s1 * r + s0 * d if ctx.needs_input_grad[1] else None
        gb = s0 if ctx.needs_input_grad[2] else None
        return gx, gw, gb, None, None, None, None


class BatchRenorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        self.num_features = num_features
        self.eps, self.momentum, self.r_max, self.d_max = eps, momentum, r_max, d_max
        self.weight, self.bias = map(nn.Parameter, (torch.ones(num_features), torch.zeros(num_features)))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_std", torch.ones(num_features))

    def forward(self, x):
        if x.dim() != 2 and x.dim() != 3:
            raise ValueError("rank")
        if x.shape[1] != self.num_features:
            raise ValueError("C")
        flat = x.transpose(0, 1).reshape(x.shape[1], -1)
        column = lambda v: v.unsqueeze(1)
        if self.training:
            if flat.shape[1] == 1:
                raise ValueError("m = 1")
            with torch.no_grad():
                mean = flat.mean(1)
                sigma = (flat - column(mean)).square().mean(1).add_(self.eps).sqrt_()
                r = sigma.div(self.running_std).clamp_(1 / self.r_max, self.r_max)
                d = mean.sub(self.running_mean).div_(self.running_std).clamp_(-self.d_max, self.d_max)
            y = _Train.apply(flat, column(self.weight), column(self.bias), *map(column, (r, d, mean, sigma)))
            with torch.no_grad():
                self.running_mean += self.momentum * (mean - self.running_mean)
                self.running_std += self.momentum * (sigma - self.running_std)
        else:
            y = column(self.weight) * ((flat - column(self.running_mean)) / column(self.running_std)) + column(self.bias)
        return y.to(x.dtype).reshape(x.shape[1], x.shape[0], *x.shape[2:]).transpose(0, 1)


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, g, v, b):
        length = torch.linalg.vector_norm(v, dim=1, keepdim=True)
        u = v / length
        ctx.save_for_backward(x, g, u, length)
        y = x @ (g * u).t()
        return (y if b is None else y + b) if x.dim() > 1 else (y if b is None else y + b).double()

    @staticmethod
    def backward(ctx, grad):
        x, g, u, length = ctx.saved_tensors
        rows = grad.reshape(-1, grad.shape[-1])
        gx = grad @ (g * u) if ctx.needs_input_grad[0] else None
        gg = gv = gb = None
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            gw = rows.t() @ x.reshape(-1, x.shape[-1])
            gg = (gw * u).sum(1, keepdim=True)
            gv = g / length * (gw - gg * u)
        if ctx.needs_input_grad[3]:
            gb = rows.sum(0)
        return gx, gg, gv, gb


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.weight_v = nn.Parameter(torch.randn(out_features, in_features) / in_features)
        self.weight_g = nn.Parameter(torch.linalg.vector_norm(self.weight_v, dim=1, keepdim=True).detach())
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None

    def forward(self, x):
        return _Linear.apply(x, self.weight_g, self.weight_v, self.bias)
