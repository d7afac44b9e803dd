import torch
from torch import nn


class LayerNorm(nn.Module):
    """Centring by a projection matrix I - 11^T/m, the rest by vector norms."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        self.normalized_shape = tuple([normalized_shape] if isinstance(normalized_shape, int) else normalized_shape)
        self.m = torch.Size(self.normalized_shape).numel()
        self.eps = eps
        for name, start in (("weight", 1.0), ("bias", 0.0)):
            setattr(self, name, nn.Parameter(start * torch.ones(self.normalized_shape)) if elementwise_affine else None)

    def forward(self, x):
        k = len(self.normalized_shape)
        if x.ndim < k or x.shape[x.ndim - k:] != self.normalized_shape:
            raise ValueError("shape")
        flat = x.reshape(-1, self.m)
        flat = flat - flat[:, :1]  # shift: harmless on paper, good for large means
        p = torch.eye(self.m, dtype=x.dtype, device=x.device) - 1 / self.m
        c = flat @ p
        y = c / torch.sqrt((c.unsqueeze(1) @ c.unsqueeze(2)).squeeze(-1) / self.m + self.eps)
        y = y.reshape(x.shape)
        return y if self.weight is None else torch.addcmul(self.bias, y, self.weight)


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    # the Jacobian of each row: J = (I - 11^T/D - h h^T/D) / s
    D = x.shape[-1]
    X, G = x.reshape(-1, D), grad_out.reshape(-1, D)
    C = X - X.mean(1, keepdim=True)
    s = torch.sqrt(C.square().mean(1, keepdim=True) + eps)
    H = C / s
    eye = torch.eye(D, dtype=x.dtype, device=x.device)
    J = (eye - 1 / D - H.unsqueeze(2) * H.unsqueeze(1) / D) / s.unsqueeze(2)
    gx = torch.bmm(J, (G * weight).unsqueeze(2)).squeeze(2)
    one = torch.ones(X.shape[0], dtype=x.dtype, device=x.device)
    return gx.reshape(x.shape), one @ (G * H), one @ G


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        self.normalized_shape = tuple([normalized_shape] if isinstance(normalized_shape, int) else normalized_shape)
        self.m = torch.Size(self.normalized_shape).numel()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(self.normalized_shape)) if elementwise_affine else None

    def forward(self, x):
        flat = x.reshape(-1, self.m)
        e = torch.finfo(x.dtype).eps if self.eps is None else self.eps
        y = flat / torch.sqrt(torch.einsum("nm,nm->n", flat, flat) / self.m + e)[:, None]
        y = y.reshape(x.shape)
        return y if self.weight is None else torch.mul(y, self.weight).to(x.dtype)
