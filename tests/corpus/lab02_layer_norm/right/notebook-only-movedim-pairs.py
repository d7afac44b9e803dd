import torch
from torch import nn


def pairwise_var(rows):
    """Biased variance as half the mean squared distance of all pairs; no mean in it."""
    return (rows[..., :, None] - rows[..., None, :]).square().mean((-2, -1)) / 2


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        self.shape = torch.empty(normalized_shape).shape
        self.eps = eps
        params = (torch.ones(self.shape), torch.zeros(self.shape)) if elementwise_affine else (None, None)
        self.weight, self.bias = [p if p is None else nn.Parameter(p) for p in params]

    def forward(self, x):
        k = len(self.shape)
        if not (x.ndim >= k and all(a == b for a, b in zip(x.shape[x.ndim - k:], self.shape))):
            raise ValueError("trailing shape")
        sets = x.reshape(x.shape[: x.ndim - k] + (-1,)) if x.numel() else x.flatten(x.ndim - k)
        var = pairwise_var(sets).reshape(x.shape[: x.ndim - k] + (1,) * k)
        mean = sets.mean(-1).reshape(var.shape)
        y = (x - mean) / (var + self.eps) ** 0.5
        if self.weight is not None:
            y = y.mul(self.weight).add(self.bias)
        return y


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    xt = torch.movedim(x, -1, 0)  # features first
    gt = torch.movedim(grad_out, -1, 0)
    w = weight.reshape((-1,) + (1,) * (x.ndim - 1))
    mu = xt.mean(0)
    sd = ((xt - mu).square().mean(0) + eps).sqrt()
    h = (xt - mu) / sd
    a = (w * gt).mean(0)
    b = (w * gt * h).mean(0)
    gx = torch.movedim((w * gt - a - b * h) / sd, 0, -1)
    D = weight.numel()
    return gx, (gt * h).reshape(D, -1).sum(1), gt.reshape(D, -1).sum(1)


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        self.shape = torch.empty(normalized_shape).shape
        self.eps = eps
        self.register_parameter("weight", nn.Parameter(torch.ones(self.shape)) if elementwise_affine else None)

    def forward(self, x):
        k, dtype = len(self.shape), x.dtype
        eps = {None: torch.finfo(dtype).eps}.get(self.eps, self.eps)
        r = x.flatten(x.ndim - k).square().mean(-1).add(eps).rsqrt().reshape(x.shape[: x.ndim - k] + (1,) * k)
        y = x * r
        return y if self.weight is None else y.mul(self.weight.to(torch.promote_types(dtype, self.weight.dtype))).to(dtype)
