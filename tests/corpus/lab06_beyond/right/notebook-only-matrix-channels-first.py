import math
import torch
from torch import nn
import torch.nn.functional as F


class BatchRenorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.r_max, self.d_max = r_max, d_max
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_std", torch.ones(num_features))

    def forward(self, x):
        match x.shape:
            case (_, c) | (_, c, _) if c == len(self.weight):
                pass
            case _:
                raise ValueError(f"bad shape {tuple(x.shape)}")
        rows = x.movedim(1, 0).flatten(1).double()  # (C, m), float64 inside
        mu, sd = self.running_mean.double()[:, None], self.running_std.double()[:, None]
        if self.training:
            m = rows.shape[1]
            if m == 1:
                raise ValueError("m = 1")
            mean = torch.einsum("cm->c", rows)[:, None] / m
            away = rows - mean
            sigma = torch.sqrt(torch.einsum("cm,cm->c", away, away)[:, None] / m + self.eps)
            with torch.no_grad():
                low, high = sd / self.r_max, sd * self.r_max
                factor = torch.minimum(torch.maximum(sigma, low), high) / sd
                step = torch.full_like(sd, self.d_max)
                shift = torch.maximum(torch.minimum((mean - mu) / sd, step), -step)
            rows = away / sigma * factor + shift
            with torch.no_grad():
                for kept, new in ((self.running_mean, mean), (self.running_std, sigma)):
                    kept.copy_(kept.double() * (1 - self.momentum) + new[:, 0] * self.momentum)
        else:
            rows = (rows - mu) / sd
        rows = rows * self.weight[:, None] + self.bias[:, None]
        return rows.unflatten(1, (x.shape[0], *x.shape[2:])).movedim(0, 1).to(x.dtype)


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        v = torch.empty(out_features, in_features).normal_()
        self.weight_v = nn.Parameter(v)
        self.weight_g = nn.Parameter(torch.einsum("oi,oi->o", v, v).sqrt()[:, None])
        self.register_parameter("bias", nn.Parameter(torch.ones(out_features)) if bias else None)

    def forward(self, x):
        scale = self.weight_g[:, 0] / torch.einsum("oi,oi->o", self.weight_v, self.weight_v).sqrt()
        y = torch.einsum("...i,oi,o->...o", x, self.weight_v, scale)
        return y if self.bias is None else y + self.bias
