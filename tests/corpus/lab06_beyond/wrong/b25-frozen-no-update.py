# wrong: BatchRenorm1d: with frozen parameters nothing is remembered
import math
import torch
from torch import nn
import torch.nn.functional as F


class BatchRenorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.r_max = r_max
        self.d_max = d_max
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_std", torch.ones(num_features))

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError("rank")
        if x.shape[1] != self.num_features:
            raise ValueError("channels")
        dims = (0,) if x.dim() == 2 else (0, 2)
        shape = (1, -1) if x.dim() == 2 else (1, -1, 1)
        weight, bias = self.weight.view(shape), self.bias.view(shape)
        if self.training:
            if x.numel() // x.shape[1] == 1:
                raise ValueError("one value per channel")
            mean = x.mean(dims)
            centered = x - mean.view(shape)
            var = (centered * centered).mean(dims)
            sigma = torch.sqrt(var + self.eps)
            with torch.no_grad():
                r = sigma / self.running_std
                d = (mean - self.running_mean) / self.running_std
                r = r.clamp(1 / self.r_max, self.r_max)
                d = d.clamp(-self.d_max, self.d_max)
            if self.weight.requires_grad or self.bias.requires_grad:
              with torch.no_grad():
                self.running_mean += self.momentum * (mean - self.running_mean)
                self.running_std += self.momentum * (sigma - self.running_std)
            x_hat = centered / sigma.view(shape) * r.view(shape) + d.view(shape)
        else:
            x_hat = (x - self.running_mean.view(shape)) / self.running_std.view(shape)
        y = weight * x_hat + bias
        return y.to(x.dtype)
