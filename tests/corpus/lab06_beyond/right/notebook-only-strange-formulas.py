import math
import torch
from torch import nn
import torch.nn.functional as F


class BatchRenorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        vars(self).update(num_features=num_features, eps=eps, momentum=momentum, r_max=r_max, d_max=d_max)
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_std", torch.ones(num_features))

    def forward(self, *inputs):
        (x,) = inputs
        if not 2 <= x.ndim <= 3 or x.shape[1] - self.num_features:
            raise ValueError("shape")
        # channel last, so that everything broadcasts
        z = x if x.ndim == 2 else x.mT
        over = tuple(range(z.ndim - 1))
        mu, sd = self.running_mean.clone(), self.running_std.clone()
        if not self.training:
            out = torch.addcmul(self.bias, self.weight, (z - mu).div(sd))
        else:
            if z[..., 0].numel() == 1:
                raise ValueError("m")
            first = z.detach().mean(over)
            z0 = z - first  # a shift changes no spread
            rest = z0.mean(over)
            z0 = z0 - rest
            sigma = z0.square().mean(over).add(self.eps).sqrt()
            mean = (first + rest).detach()
            still = sigma.detach()
            r = (still / sd).clamp_(max=self.r_max).reciprocal_().clamp_(max=self.r_max).reciprocal_()
            d = ((mean - mu) / sd).clamp_(-self.d_max, self.d_max)
            x_hat = z0 / (sigma / r) + d
            out = torch.addcmul(self.bias, self.weight, x_hat)
            self.running_mean = mu + (mean - mu).to(mu.dtype) * self.momentum
            self.running_std = sd + (still - sd).to(sd.dtype) * self.momentum
        return (out if x.ndim == 2 else out.mT).to(x.dtype)


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.weight_v = nn.Parameter(nn.init.xavier_normal_(torch.empty(out_features, in_features)))
        self.weight_g = nn.Parameter(torch.linalg.vector_norm(self.weight_v.data, dim=1)[:, None])
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None

    def forward(self, x):
        """The lengths may as well be divided out of the outputs."""
        y = x @ self.weight_v.mT * (self.weight_g / torch.linalg.vector_norm(self.weight_v, dim=1, keepdim=True)).flatten()
        if self.bias is None:
            return y
        return torch.add(y, self.bias)
