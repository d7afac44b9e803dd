import torch
from torch import nn
from torch.autograd import Function


class _Renormed(Function):
    """Rows (m, C); r and d are constants."""

    @staticmethod
    def forward(ctx, rows, mu, inv, r, d):
        h = (rows - mu) * inv
        ctx.save_for_backward(h, inv * r)
        return h * r + d

    @staticmethod
    def backward(ctx, g):
        h, scale = ctx.saved_tensors
        return scale * (g - g.mean(0) - h * (g * h).mean(0)), None, None, None, None


class BatchRenorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        self.eps, self.momentum, self.r_max, self.d_max = eps, momentum, r_max, d_max
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_std", torch.ones(num_features))

    def forward(self, x):
        if x.ndim not in (2, 3) or x.size(1) != len(self.weight):
            raise ValueError(f"{tuple(x.shape)}")
        rows = x.transpose(0, 1).reshape(x.size(1), -1).t()
        if self.training:
            if len(rows) == 1:
                raise ValueError("one value per channel")
            with torch.no_grad():
                mu = rows.mean(0)
                sigma = ((rows - mu).square().mean(0) + self.eps).sqrt()
                r = (sigma / self.running_std).clamp(1 / self.r_max, self.r_max)
                d = ((mu - self.running_mean) / self.running_std).clamp(-self.d_max, self.d_max)
                self.running_mean.lerp_(mu, self.momentum)
                self.running_std.lerp_(sigma, self.momentum)
            h = _Renormed.apply(rows, mu, 1 / sigma, r, d)
        else:
            h = (rows - self.running_mean) / self.running_std
        y = h * self.weight + self.bias
        return y.t().reshape(x.size(1), x.size(0), *x.shape[2:]).transpose(0, 1)


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        v = torch.randn(out_features, in_features)
        self.weight_v = nn.Parameter(v)
        self.weight_g = nn.Parameter(v.norm(dim=1, keepdim=True))
        self.bias = nn.Parameter(torch.randn(out_features)) if bias else None

    @property
    def weight(self):
        return self.weight_g * (self.weight_v / self.weight_v.norm(dim=1, keepdim=True))

    def forward(self, x):
        y = torch.tensordot(x, self.weight, dims=([-1], [1]))
        return y if self.bias is None else y + self.bias
