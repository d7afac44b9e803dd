import torch
from torch import nn


def _shape(s):
    return (s,) if isinstance(s, int) else (*s,)


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        self.eps, self.s = eps, _shape(normalized_shape)
        self.weight = nn.Parameter(torch.ones(self.s)) if elementwise_affine else None
        self.bias = nn.Parameter(torch.zeros(self.s)) if elementwise_affine else None

    def forward(self, x):
        k = len(self.s)
        if tuple(x.shape[-k:]) != self.s:
            raise ValueError("shape")
        d = list(range(x.dim() - k, x.dim()))
        var, mean = torch.var_mean(x, d, correction=0, keepdim=True)
        y = x.clone()
        y -= mean
        y /= var.add(self.eps).sqrt_()
        if self.weight is not None:
            y = y * self.weight
            y += self.bias
        return y


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    h = x.detach().clone()
    h -= h.mean(-1, keepdim=True)
    s = h.square().mean(-1, keepdim=True).add_(eps).sqrt_()
    h /= s
    gx = grad_out.detach() * weight.detach()
    gx -= gx.mean(-1, keepdim=True) + h * (gx * h).mean(-1, keepdim=True)
    gx /= s
    h *= grad_out.detach()
    lead = list(range(x.dim() - 1))
    return gx, h.sum(lead), grad_out.detach().sum(lead)


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        self.eps, self.s = eps, _shape(normalized_shape)
        self.weight = nn.Parameter(torch.ones(self.s)) if elementwise_affine else None

    def forward(self, x):
        m = 1
        for n in self.s:
            m *= n
        eps = torch.finfo(x.dtype).eps if self.eps is None else self.eps
        norm = torch.linalg.vector_norm(x, dim=tuple(range(-len(self.s), 0)), keepdim=True)
        y = x / (norm * norm / m + eps).sqrt_()
        if self.weight is not None:
            y = (y * self.weight).to(x.dtype)
        return y
