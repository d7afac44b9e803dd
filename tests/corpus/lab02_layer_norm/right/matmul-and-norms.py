import torch
from torch import nn
import torch.nn.functional as F


class _Sized:
    @staticmethod
    def sizes(n):
        return torch.Size((n,)) if isinstance(n, int) else torch.Size(n)


class LayerNorm(nn.Module, _Sized):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        nn.Module.__init__(self)
        self.normalized_shape = self.sizes(normalized_shape)
        self.eps = eps
        for name, value in (("weight", 1.0), ("bias", 0.0)):
            start = torch.full(self.normalized_shape, value)
            self.register_parameter(name, nn.Parameter(start) if elementwise_affine else None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        k, m = len(self.normalized_shape), self.normalized_shape.numel()
        if x.shape[x.dim() - k :] != self.normalized_shape or x.dim() < k:
            raise ValueError(f"{x.shape} for {self.normalized_shape}")
        flat = x.flatten(start_dim=x.dim() - k).reshape(-1, m)
        average = flat.new_full((m, 1), 1 / m)
        centred = flat - flat @ average
        x_hat = (centred / torch.sqrt(centred.square() @ average + self.eps)).view(x.shape)
        if self.weight is not None:
            x_hat = x_hat * self.weight
        if self.bias is not None:
            x_hat = x_hat + self.bias
        return x_hat


class RMSNorm(nn.Module, _Sized):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        nn.Module.__init__(self)
        self.normalized_shape = self.sizes(normalized_shape)
        self.eps = eps
        self.weight = None
        if elementwise_affine:
            self.weight = nn.Parameter(torch.ones(self.normalized_shape))

    def forward(self, x):
        flat = x.reshape(-1, self.normalized_shape.numel())
        eps = {None: torch.finfo(x.dtype).eps}.get(self.eps, self.eps)
        power = torch.einsum("rm,rm->r", flat, flat) / flat.shape[1]
        y = (flat / torch.sqrt(power + eps).unsqueeze(1)).view(x.shape)
        return y if self.weight is None else (self.weight * y).to(x)


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    """With the Jacobian of each row, written out."""
    d = x.shape[-1]
    rows, g = x.reshape(-1, d), grad_out.reshape(-1, d)
    eye, ones = torch.eye(d, dtype=x.dtype), torch.ones(d, d, dtype=x.dtype)
    centre = eye - ones / d
    c = rows @ centre
    inv = (c.square().mean(1) + eps).rsqrt()
    h = c * inv[:, None]
    jacobian = inv[:, None, None] * (centre - torch.einsum("ri,rj->rij", h, h) / d)
    grad_x = torch.einsum("rj,rij->ri", g * weight, jacobian)
    return grad_x.view(x.shape), torch.einsum("rd,rd->d", g, h), g.sum(dim=0)
