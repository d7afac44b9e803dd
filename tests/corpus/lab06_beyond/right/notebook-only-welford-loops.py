import math
import torch
from torch import nn
import torch.nn.functional as F


class BatchRenorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        self.channels = num_features
        self.eps, self.momentum, self.r_max, self.d_max = eps, momentum, r_max, d_max
        for name, value in (("weight", 1.0), ("bias", 0.0)):
            setattr(self, name, nn.Parameter(torch.full((num_features,), value)))
        for name, value in (("running_mean", 0.0), ("running_std", 1.0)):
            self.register_buffer(name, torch.full((num_features,), value))

    @staticmethod
    def welford(values):
        """Return the mean and the biased variance of the rows of a matrix, row by row."""
        mean, m2 = torch.zeros_like(values[0]), torch.zeros_like(values[0])
        for count, row in enumerate(values, start=1):
            delta = row - mean
            mean = mean + delta / count
            m2 = m2 + delta * (row - mean)
        return mean, m2 / len(values)

    def forward(self, x):
        if x.dim() == 2:
            rows = x
        elif x.dim() == 3:
            rows = torch.cat([sample.t() for sample in x])
        else:
            raise ValueError(f"expected 2 or 3 axes, got {x.dim()}")
        if x.size(1) != self.channels:
            raise ValueError(f"expected {self.channels} channels, got {x.size(1)}")
        if self.training:
            if len(rows) == 1:
                raise ValueError("more than one value per channel is needed")
            mean, var = self.welford(rows)
            sigma = (var + self.eps) ** 0.5
            with torch.no_grad():
                r = torch.empty_like(sigma)
                d = torch.empty_like(sigma)
                for c in range(self.channels):
                    r[c] = min(max(sigma[c] / self.running_std[c], 1 / self.r_max), self.r_max)
                    d[c] = min(max((mean[c] - self.running_mean[c]) / self.running_std[c], -self.d_max), self.d_max)
                for c in range(self.channels):
                    self.running_mean[c] += self.momentum * (mean[c] - self.running_mean[c])
                    self.running_std[c] += self.momentum * (sigma[c] - self.running_std[c])
            rows = (rows - mean) / sigma * r + d
        else:
            rows = (rows - self.running_mean) / self.running_std
        rows = (rows * self.weight + self.bias).to(x.dtype)
        if x.dim() == 3:
            return torch.stack([piece.t() for piece in rows.split(x.size(2))])
        return rows


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        rows = [torch.rand(in_features) - 0.5 for _ in range(out_features)]
        self.weight_v = nn.Parameter(torch.stack(rows))
        self.weight_g = nn.Parameter(torch.stack([(row * row).sum().sqrt() for row in rows]).unsqueeze(1))
        self.bias = None
        if bias:
            self.bias = nn.Parameter(torch.zeros(out_features))

    def forward(self, x):
        outputs = []
        for k in range(self.weight_v.shape[0]):
            v = self.weight_v[k]
            length = (v * v).sum() ** 0.5
            y = (x * (v * (self.weight_g[k] / length))).sum(-1)
            if self.bias is not None:
                y = y + self.bias[k]
            outputs.append(y)
        return torch.stack(outputs, dim=-1)
