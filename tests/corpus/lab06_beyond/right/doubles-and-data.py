import math

import torch
import torch.nn as nn


class BatchRenorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super(BatchRenorm1d, self).__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.r_max = r_max
        self.d_max = d_max
        self.weight = nn.Parameter(torch.empty(num_features))
        self.bias = nn.Parameter(torch.empty(num_features))
        self.register_buffer("running_mean", torch.empty(num_features))
        self.register_buffer("running_std", torch.empty(num_features))
        self.reset()

    def reset(self):
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)
        self.running_mean.zero_()
        self.running_std.fill_(1)

    def _checked(self, x):
        if x.dim() != 2 and x.dim() != 3:
            raise ValueError("rank")
        if x.shape[1] != self.num_features:
            raise ValueError("channels")
        if self.training and x.shape[0] * math.prod(x.shape[2:]) == 1:
            raise ValueError("a single value for each channel")

    def forward(self, x):
        self._checked(x)
        axes = (0,) if x.dim() == 2 else (0, 2)
        column = (1, -1) if x.dim() == 2 else (1, -1, 1)
        wide = x.double()
        if self.training:
            var, mean = torch.var_mean(wide, dim=axes, correction=0)
            sigma = (var + self.eps).sqrt()
            old_mean, old_std = self.running_mean.detach().double(), self.running_std.detach().double()
            r = torch.min(torch.max(sigma.detach() / old_std, torch.tensor(1 / self.r_max)), torch.tensor(float(self.r_max)))
            d = (mean.detach() - old_mean) / old_std
            d = d.clip(min=-self.d_max, max=self.d_max)
            out = (wide - mean.view(column)) / sigma.view(column)
            out = out * r.view(column) + d.view(column)
            self.running_mean.data.mul_(1 - self.momentum).add_(self.momentum * mean.detach())
            self.running_std.data.mul_(1 - self.momentum).add_(self.momentum * sigma.detach())
        else:
            out = (wide - self.running_mean.double().view(column)) / self.running_std.double().view(column)
        out = out * self.weight.double().view(column) + self.bias.double().view(column)
        return out.to(x.dtype)


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super(WeightNormLinear, self).__init__()
        bound = in_features**-0.5
        self.weight_v = nn.Parameter(torch.empty(out_features, in_features).uniform_(-bound, bound))
        with torch.no_grad():
            self.weight_g = nn.Parameter(self.weight_v.square().sum(1, keepdim=True).sqrt())
        self.register_parameter("bias", nn.Parameter(torch.zeros(out_features)) if bias else None)

    def forward(self, x):
        g, v = self.weight_g.double(), self.weight_v.double()
        w = g * v / v.pow(2).sum(-1, keepdim=True).sqrt()
        out = nn.functional.linear(x.double(), w, None if self.bias is None else self.bias.double())
        return out.to(x.dtype)
