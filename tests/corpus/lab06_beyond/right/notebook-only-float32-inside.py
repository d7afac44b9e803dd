import math
import torch
from torch import nn
import torch.nn.functional as F


class BatchRenorm1d(nn.Module):
    """Everything is computed in float32 for float64 inputs; the mean is taken off first in the dtype of x."""

    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super(BatchRenorm1d, self).__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.r_max = r_max
        self.d_max = d_max
        self.register_parameter("bias", nn.Parameter(torch.zeros([num_features])))
        self.register_parameter("weight", nn.Parameter(torch.ones([num_features])))
        self.register_buffer("running_std", torch.full((num_features,), 1.0))
        self.register_buffer("running_mean", torch.full((num_features,), 0.0))

    def forward(self, x):
        if len(x.shape) == 2:
            return self._rows(x)
        if len(x.shape) == 3:
            if x.shape[1] != self.num_features:
                raise ValueError("channels")
            n, c, l = x.shape
            return self._rows(x.permute(0, 2, 1).reshape(n * l, c)).reshape(n, l, c).permute(0, 2, 1)
        raise ValueError("rank")

    def _rows(self, x):
        if x.shape[1] != self.num_features:
            raise ValueError("channels")
        z = x.to(torch.float32)
        w, b = self.weight.to(torch.float32), self.bias.to(torch.float32)
        m0, s0 = self.running_mean.to(torch.float32), self.running_std.to(torch.float32)
        if not self.training:
            return (w * ((z - m0) / s0) + b).to(x.dtype)
        if x.shape[0] == 1:
            raise ValueError("one value")
        mean = z.mean(0)
        sigma = ((z - mean) ** 2).mean(0).add(self.eps).sqrt()
        r = (sigma.detach() / s0).clip(1 / self.r_max, self.r_max)
        d = ((mean.detach() - m0) / s0).clip(-self.d_max, self.d_max)
        out = w * ((z - mean) / sigma * r + d) + b
        with torch.no_grad():
            self.running_mean.mul_(1 - self.momentum).add_(mean.to(self.running_mean.dtype), alpha=self.momentum)
            self.running_std.mul_(1 - self.momentum).add_(sigma.to(self.running_std.dtype), alpha=self.momentum)
        return out.to(x.dtype)


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super(WeightNormLinear, self).__init__()
        self.weight_v = nn.Parameter(torch.randn(out_features, in_features))
        self.weight_g = nn.Parameter(self.weight_v.detach().norm(2, 1, True))
        self.bias = nn.Parameter(torch.randn(out_features)) if bias else None

    def forward(self, x):
        v = self.weight_v.to(torch.float64)
        w = (v / v.square().sum(dim=-1, keepdim=True).sqrt() * self.weight_g.to(torch.float64)).to(x.dtype)
        return F.linear(x, w) if self.bias is None else F.linear(x, w, self.bias.to(x.dtype))
