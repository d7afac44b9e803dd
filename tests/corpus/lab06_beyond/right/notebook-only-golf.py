import math
import torch
from torch import nn
import torch.nn.functional as F


class BatchRenorm1d(nn.Module):
    def __init__(s, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__(); s.C, s.eps, s.momentum, s.r_max, s.d_max = num_features, eps, momentum, r_max, d_max
        s.weight, s.bias = nn.Parameter(torch.ones(s.C)), nn.Parameter(torch.zeros(s.C))
        s.register_buffer("running_mean", torch.zeros(s.C)); s.register_buffer("running_std", torch.ones(s.C))
    def forward(s, x):
        if x.ndim not in {2, 3} or x.shape[1] != s.C: raise ValueError(x.shape)
        if x.ndim == 3: return s.forward(x.transpose(1, 2).reshape(-1, s.C)).reshape(x.shape[0], x.shape[2], s.C).transpose(1, 2)
        m, q = s.running_mean, s.running_std
        if not s.training: return (s.weight * ((x - m) / q) + s.bias).to(x.dtype)
        if len(x) < 2: raise ValueError("m = 1")
        v, u = torch.var_mean(x, 0, correction=0); z = (v + s.eps) ** .5
        R = (z / q).detach().clamp(1 / s.r_max, s.r_max); D = ((u - m) / q).detach().clamp(-s.d_max, s.d_max)
        s.running_mean, s.running_std = (torch.lerp(a, b.detach().to(a), s.momentum) for a, b in ((m, u), (q, z)))
        return (s.weight * ((x - u) / z * R + D) + s.bias).to(x.dtype)


class WeightNormLinear(nn.Module):
    def __init__(s, in_features, out_features, bias=True):
        super().__init__(); k = in_features ** -.5
        s.weight_v = nn.Parameter(torch.rand(out_features, in_features) * 2 * k - k)
        s.weight_g = nn.Parameter(torch.linalg.vector_norm(s.weight_v.detach(), dim=1, keepdim=True))
        s.bias = nn.Parameter(torch.zeros(out_features)) if bias else None
    def forward(s, x): return F.linear(x, s.weight_v * (s.weight_g / torch.linalg.vector_norm(s.weight_v, dim=1, keepdim=True)), s.bias)
