import math
import torch
from torch import nn
import torch.nn.functional as F


def steps(column, mu, sd, eps, r_max, d_max):
    mean = column.mean()
    sigma = torch.sqrt(torch.mean((column - mean) ** 2) + eps)
    r = float(sigma.detach() / sd)
    d = float((mean.detach() - mu) / sd)
    r = sorted((1 / r_max, r, r_max))[1]
    d = sorted((-d_max, d, d_max))[1]
    return (column - mean) / sigma * r + d, mean.detach(), sigma.detach()


class BatchRenorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        nn.Module.__init__(self)
        self.n, self.eps, self.momentum, self.r_max, self.d_max = num_features, eps, momentum, r_max, d_max
        self.weight = nn.Parameter(torch.tensor([1.0] * num_features))
        self.bias = nn.Parameter(torch.tensor([0.0] * num_features))
        self.register_buffer("running_mean", torch.tensor([0.0] * num_features))
        self.register_buffer("running_std", torch.tensor([1.0] * num_features))

    def forward(self, x):
        if x.ndim < 2 or x.ndim > 3:
            raise ValueError("axes")
        if x.size(1) != self.n:
            raise ValueError("channels")
        columns = x.unbind(1)
        if self.training and columns[0].nelement() == 1:
            raise ValueError("values")
        done, means, sigmas = [], [], []
        for c, column in enumerate(columns):
            if self.training:
                value, mean, sigma = steps(column, self.running_mean[c], self.running_std[c], self.eps, self.r_max, self.d_max)
                means.append(mean)
                sigmas.append(sigma)
            else:
                value = (column - self.running_mean[c]) / self.running_std[c]
            done.append(self.weight[c] * value + self.bias[c])
        if self.training:
            with torch.no_grad():
                a = self.momentum
                self.running_mean[:] = (1 - a) * self.running_mean + a * torch.stack(means)
                self.running_std[:] = (1 - a) * self.running_std + a * torch.stack(sigmas)
        return torch.stack(done, 1).to(x.dtype)


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        nn.Module.__init__(self)
        self.weight_v = nn.Parameter(torch.rand(out_features, in_features).mul_(2).sub_(1).div_(in_features ** 0.5))
        self.weight_g = nn.Parameter(self.weight_v.data.norm(dim=1).view(-1, 1).clone())
        self.bias = nn.Parameter(torch.rand(out_features)) if bias else None

    def forward(self, x):
        directions = torch.stack([v / v.norm() for v in self.weight_v])
        flat = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
        y = flat @ (directions * self.weight_g).t()
        if self.bias is not None:
            y = y + self.bias
        return y.reshape(x.shape[:-1] + (self.weight_v.shape[0],))
