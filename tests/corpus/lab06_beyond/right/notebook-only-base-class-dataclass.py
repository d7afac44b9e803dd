import math
import torch
from torch import nn
import torch.nn.functional as F


from dataclasses import dataclass


@dataclass
class Moments:
    mean: torch.Tensor
    sigma: torch.Tensor

    @classmethod
    def of(cls, x, axes, eps):
        var, mean = torch.var_mean(x, dim=axes, unbiased=False, keepdim=True)
        return cls(mean, torch.sqrt(var + eps))

    def apply(self, x):
        return (x - self.mean) / self.sigma


class ChannelLayer(nn.Module):
    axes = {2: (0,), 3: (0, 2)}

    def __init__(self, channels):
        super().__init__()
        self.channels = channels
        self.weight = nn.Parameter(torch.empty(channels))
        self.bias = nn.Parameter(torch.empty(channels))
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    def aligned(self, vector, x):
        return vector[:, None] if x.dim() == 3 else vector

    def forward(self, x):
        if x.dim() not in self.axes:
            raise ValueError("only (N, C) and (N, C, L)")
        if x.shape[1] != self.channels:
            raise ValueError("wrong number of channels")
        y = self.aligned(self.weight, x) * self.normalized(x) + self.aligned(self.bias, x)
        return y.to(x.dtype)


class BatchRenorm1d(ChannelLayer):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__(num_features)
        self.eps = eps
        self.momentum = momentum
        self.r_max = r_max
        self.d_max = d_max
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_std", torch.ones(num_features))

    @property
    def remembered(self):
        return Moments(self.running_mean, self.running_std)

    def normalized(self, x):
        old = Moments(self.aligned(self.running_mean, x), self.aligned(self.running_std, x))
        if not self.training:
            return old.apply(x)
        axes = self.axes[x.dim()]
        if math.prod(x.shape[a] for a in axes) == 1:
            raise ValueError("one value per channel")
        new = Moments.of(x, axes, self.eps)
        r = torch.clamp((new.sigma / old.sigma).detach(), 1 / self.r_max, self.r_max)
        d = torch.clamp(((new.mean - old.mean) / old.sigma).detach(), -self.d_max, self.d_max)
        x_hat = new.apply(x) * r + d
        self.remember(new)
        return x_hat

    @torch.no_grad()
    def remember(self, new):
        old = self.remembered
        mean, sigma = new.mean.reshape(-1), new.sigma.reshape(-1)
        old.mean.copy_(old.mean + self.momentum * (mean - old.mean))
        old.sigma.copy_(old.sigma + self.momentum * (sigma - old.sigma))


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.weight_g = nn.Parameter(torch.empty(out_features, 1))
        self.weight_v = nn.Parameter(torch.empty(out_features, in_features))
        if bias:
            self.bias = nn.Parameter(torch.empty(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.kaiming_uniform_(self.weight_v, a=math.sqrt(5))
        with torch.no_grad():
            self.weight_g.copy_(self.length())
        if self.bias is not None:
            nn.init.uniform_(self.bias, -0.1, 0.1)

    def length(self):
        return torch.linalg.norm(self.weight_v, dim=1, keepdim=True)

    @property
    def weight(self):
        return self.weight_g * (self.weight_v / self.length())

    def extra_repr(self):
        return f"{tuple(self.weight_v.shape)}, bias={self.bias is not None}"

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)
