import math
import torch
from torch import nn
import torch.nn.functional as F


def check_shape(layer, arguments):
    (x,) = arguments
    if x.dim() not in (2, 3) or x.shape[1] != layer.num_features:
        raise ValueError("shape")
    if layer.training and x.shape[0] * math.prod(x.shape[2:]) == 1:
        raise ValueError("one value per channel")


def affine(weight, bias):
    def apply(x_hat):
        return weight * x_hat + bias
    return apply


def broadcaster(x):
    extra = (1,) * (x.dim() - 2)
    return lambda vector: vector.reshape(-1, *extra)


class BatchRenorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        self.num_features, self.eps, self.momentum, self.r_max, self.d_max = num_features, eps, momentum, r_max, d_max
        for register, names in (
            (lambda n, t: self.register_parameter(n, nn.Parameter(t)), {"weight": torch.ones, "bias": torch.zeros}),
            (self.register_buffer, {"running_mean": torch.zeros, "running_std": torch.ones}),
        ):
            for name, start in names.items():
                register(name, start(num_features))

    def forward(self, x):
        check_shape(self, (x,))
        at = broadcaster(x)
        finish = affine(at(self.weight), at(self.bias))
        return finish(self.batch(x, at) if self.training else (x - at(self.running_mean)) / at(self.running_std)).to(x.dtype)

    def batch(self, x, at):
        axes = [axis for axis in range(x.dim()) if axis != 1]
        var, mean = torch.var_mean(x, axes, correction=0)
        inverse = torch.rsqrt(var + self.eps)
        with torch.no_grad():
            sigma = torch.sqrt(var + self.eps)
            r = torch.exp(torch.clamp(torch.log(sigma / self.running_std), -math.log(self.r_max), math.log(self.r_max)))
            d = torch.clamp((mean - self.running_mean) / self.running_std, -self.d_max, self.d_max)
            self.running_mean.lerp_(mean.to(self.running_mean), self.momentum)
            self.running_std.lerp_(sigma.to(self.running_std), self.momentum)
        return (x - at(mean)) * at(inverse) * at(r) + at(d)


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        v = torch.empty(out_features, in_features)
        nn.init.orthogonal_(v)
        v += 0.1 * torch.rand_like(v)
        self.weight_g = nn.Parameter(v.norm(dim=1, keepdim=True))
        self.weight_v = nn.Parameter(v)
        self.bias = nn.Parameter(torch.linspace(-1, 1, out_features)) if bias else None

    def forward(self, x):
        y = torch.tensordot(x, self.weight_g * self.weight_v * self.weight_v.square().sum(1, keepdim=True).rsqrt(), dims=([-1], [1]))
        if self.bias is not None:
            y += self.bias
        return y
