import math
import torch
from torch import nn
import torch.nn.functional as F


def batch_statistics(x, eps):
    mean = x.mean(dim=0)
    return mean, ((x - mean).pow(2).mean(dim=0) + eps).sqrt()


def correction(mean, sigma, running_mean, running_std, r_max, d_max):
    r = (sigma / running_std).clamp(1 / r_max, r_max)
    return r, ((mean - running_mean) / running_std).clamp(-d_max, d_max)


def corrected(x, mean, sigma, r, d):
    return (x - mean) / sigma * r + d


def updated_running(running_mean, running_std, mean, sigma, momentum):
    return running_mean + momentum * (mean - running_mean), running_std + momentum * (sigma - running_std)


def evaluated(x, running_mean, running_std):
    return (x - running_mean) / running_std


def as_batch_norm(x, running_mean, running_std, eps):
    mean, sigma = batch_statistics(x, eps)
    return corrected(x, mean, sigma, *correction(mean, sigma, running_mean, running_std, 1, 0))


def limits_for_evaluation(x, running_mean, running_std, eps):
    mean, sigma = batch_statistics(x, eps)
    r, d = sigma / running_std, (mean - running_mean) / running_std
    return torch.maximum(r, 1 / r).max().clamp(min=1), d.abs().max()


class BatchRenorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.r_max, self.d_max = r_max, d_max
        self.weight, self.bias = nn.Parameter(torch.ones(num_features)), nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_std", torch.ones(num_features))

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError("rank")
        if x.size(1) != self.num_features:
            raise ValueError("C")
        rows = x.transpose(1, -1).flatten(0, -2) if x.dim() == 3 else x
        running = self.running_mean, self.running_std
        if self.training:
            if rows.size(0) == 1:
                raise ValueError("m")
            mean, sigma = batch_statistics(rows, self.eps)
            with torch.no_grad():
                r, d = correction(mean, sigma, *running, self.r_max, self.d_max)
                self.running_mean, self.running_std = (
                    new.to(old.dtype) for old, new in zip(running, updated_running(*running, mean, sigma, self.momentum))
                )
            x_hat = corrected(rows, mean, sigma, r, d)
        else:
            x_hat = evaluated(rows, *running)
        y = (self.weight * x_hat + self.bias).to(x.dtype)
        return y.unflatten(0, (x.size(0), x.size(2))).transpose(1, 2) if x.dim() == 3 else y


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        linear = nn.Linear(in_features, out_features, bias)
        self.weight_v = linear.weight
        self.weight_g = nn.Parameter(linear.weight.detach().square().sum(1, keepdim=True).sqrt())
        self.bias = linear.bias

    def forward(self, input):
        return F.linear(input, self.weight_g * F.normalize(self.weight_v, p=2.0, dim=1, eps=0.0), self.bias)
