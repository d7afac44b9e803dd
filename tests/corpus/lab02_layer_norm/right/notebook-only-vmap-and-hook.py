import torch
from torch import nn


def one(v, eps):
    d = v - v.mean()
    return d * torch.rsqrt(torch.dot(d, d) / d.numel() + eps)


def one_rms(v, eps):
    return v / torch.sqrt(torch.dot(v, v) / v.numel() + eps)


def refuse(layer, args):
    x, want = args[0], layer.normalized_shape
    if x.dim() < len(want) or tuple(x.shape[-len(want):]) != want:
        raise ValueError(f"{tuple(x.shape)} against {want}")


class LayerNorm(nn.Module):
    one = staticmethod(one)

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        self.normalized_shape = tuple(normalized_shape) if hasattr(normalized_shape, "__iter__") else (normalized_shape,)
        self.eps = eps
        for n, f in dict(weight=torch.ones, bias=torch.zeros).items():
            self.register_parameter(n, nn.Parameter(f(self.normalized_shape)) if elementwise_affine else None)
        self.register_forward_pre_hook(refuse)

    def forward(self, x):
        refuse(self, (x,))
        m = torch.Size(self.normalized_shape).numel()
        y = torch.vmap(lambda v: one(v, self.eps))(x.reshape(-1, m)).reshape(x.shape)
        return y if self.weight is None else self.bias + self.weight * y


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        self.normalized_shape = tuple(normalized_shape) if hasattr(normalized_shape, "__iter__") else (normalized_shape,)
        self.eps = eps
        self.register_parameter("weight", nn.Parameter(torch.ones(self.normalized_shape)) if elementwise_affine else None)

    def forward(self, x):
        eps = torch.finfo(x.dtype).eps if self.eps is None else self.eps
        m = torch.Size(self.normalized_shape).numel()
        y = torch.vmap(lambda v: one_rms(v, eps))(x.reshape(-1, m)).reshape(x.shape)
        return y if self.weight is None else torch.mul(y, self.weight).to(x.dtype)


@torch.no_grad()
def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    def row(g, v):
        d = v - v.mean()
        s = torch.sqrt(torch.dot(d, d) / d.numel() + eps)
        h, p = d / s, g * weight
        return (p - p.mean() - h * (p * h).mean()) / s, g * h

    D = x.shape[-1]
    gx, gh = torch.vmap(row)(grad_out.reshape(-1, D), x.reshape(-1, D))
    return gx.reshape(x.shape), gh.sum(0), grad_out.reshape(-1, D).sum(0)
