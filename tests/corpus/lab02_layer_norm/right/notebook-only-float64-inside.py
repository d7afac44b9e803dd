import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        try:
            self.size = tuple(normalized_shape)
        except TypeError:
            self.size = (normalized_shape,)
        self.eps = eps
        if elementwise_affine:
            self.weight, self.bias = nn.Parameter(torch.ones(self.size)), nn.Parameter(torch.zeros(self.size))
        else:
            self.weight = self.bias = None

    def forward(self, x):
        if tuple(x.shape)[-len(self.size):] != self.size:
            raise ValueError(self.size, x.shape)
        dims = [x.dim() - 1 - i for i in range(len(self.size))]
        h = x.double()
        h = h - h.mean(dims, keepdim=True)
        h = h / (h.var(dims, unbiased=False, keepdim=True) + self.eps).sqrt()
        if self.weight is not None:
            h = torch.addcmul(self.bias.double(), self.weight.double(), h)
        return h.to(x.dtype)


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    G, X, w = grad_out.double(), x.double(), weight.double()
    D = X.size(-1)
    X = X - X.sum(-1, keepdim=True) / D
    std = X.pow(2).sum(-1, keepdim=True).div(D).add(eps).sqrt()
    H = X / std
    P = G * w
    dx = (D * P - P.sum(-1, keepdim=True) - H * (P * H).sum(-1, keepdim=True)) / (D * std)
    dw, db = (G * H).reshape(-1, D).sum(0), G.reshape(-1, D).sum(0)
    return tuple(t.to(x.dtype) for t in (dx, dw, db))


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        try:
            self.size = tuple(normalized_shape)
        except TypeError:
            self.size = (normalized_shape,)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(self.size)) if elementwise_affine else None

    def forward(self, x):
        dims = [x.dim() - 1 - i for i in range(len(self.size))]
        eps = torch.finfo(x.dtype).eps if self.eps is None else float(self.eps)
        h = x.to(torch.float64)
        h = h * torch.pow(h.pow(2).mean(dims, keepdim=True) + eps, -0.5)
        if self.weight is not None:
            h = h * self.weight
        return h.to(x.dtype)
