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
            old_mean, old_std = self.running_mean.detach().clone(), self.running_std.detach().clone()
            still_mean, still_sigma = mean.detach(), sigma.detach()
            if True:
                r = still_sigma / old_std
                d = (still_mean - old_mean) / old_std
                r = r.clamp(1 / self.r_max, self.r_max)
                d = d.clamp(-self.d_max, self.d_max)
            self.running_mean = ((1 - self.momentum) * old_mean + self.momentum * still_mean).type_as(old_mean)
            self.running_std = ((1 - self.momentum) * old_std + self.momentum * still_sigma).type_as(old_std)
            x_hat = centered / sigma.view(shape) * r.view(shape) + d.view(shape)
        else:
            x_hat = (x - self.running_mean.view(shape)) / self.running_std.view(shape)
        y = weight * x_hat + bias
        return y.to(x.dtype)


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        bound = 1 / math.sqrt(in_features)
        v = torch.empty(out_features, in_features).uniform_(-bound, bound)
        self.weight_v = nn.Parameter(v)
        self.weight_g = nn.Parameter(v.pow(2).sum(1, keepdim=True).sqrt())
        if bias:
            self.bias = nn.Parameter(torch.empty(out_features).uniform_(-bound, bound))
        else:
            self.register_parameter("bias", None)

    def forward(self, x):
        length = self.weight_v.pow(2).sum(1, keepdim=True).sqrt()
        weight = torch.diag_embed((self.weight_g / length).squeeze(1)) @ self.weight_v
        y = (weight @ x.unsqueeze(-1)).squeeze(-1)
        if self.bias is not None:
            y = y + self.bias
        return y
