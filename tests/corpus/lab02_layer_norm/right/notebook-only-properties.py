from dataclasses import dataclass
import torch
from torch import nn


@dataclass(frozen=True)
class Spec:
    shape: tuple
    eps: float = None

    @classmethod
    def of(cls, given, eps):
        return cls((given,) if isinstance(given, int) else tuple(int(i) for i in given), eps)

    @property
    def axes(self):
        return tuple(-1 - i for i in range(len(self.shape)))

    def fits(self, x):
        return x.ndim >= len(self.shape) and tuple(x.shape[-len(self.shape):]) == self.shape

    def eps_for(self, x):
        return torch.finfo(x.dtype).eps if self.eps is None else self.eps


class LayerNorm(nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()
        self._setup(*args, **kwargs)

    def _setup(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        self.spec = Spec.of(normalized_shape, eps)
        self.elementwise_affine = elementwise_affine
        self.weight = nn.Parameter(torch.ones(self.spec.shape)) if elementwise_affine else None
        self.bias = nn.Parameter(torch.zeros(self.spec.shape)) if elementwise_affine else None

    @property
    def normalized_shape(self):
        return self.spec.shape

    @property
    def eps(self):
        return self.spec.eps

    def forward(self, x):
        if not self.spec.fits(x):
            raise ValueError(f"{tuple(x.shape)} does not end with {self.normalized_shape}")
        centred = x - x.mean(self.spec.axes, keepdim=True)
        scale = (centred.square().mean(self.spec.axes, keepdim=True) + self.eps).sqrt().reciprocal()
        if not self.elementwise_affine:
            return centred * scale
        return centred * (self.weight * scale) + self.bias


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        nn.Module.__init__(self)
        self.spec = Spec.of(normalized_shape, eps)
        self.weight = nn.Parameter(torch.ones(self.spec.shape)) if elementwise_affine else None

    def forward(self, x):
        scale = (x.square().mean(self.spec.axes, keepdim=True) + self.spec.eps_for(x)).sqrt().reciprocal()
        if self.weight is None:
            return x * scale
        return (x * scale * self.weight).to(x.dtype)


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    spec = Spec((x.shape[-1],), eps)
    mean = lambda t: t.mean(spec.axes, keepdim=True)
    c = x - mean(x)
    r = (mean(c * c) + eps).sqrt().reciprocal()
    h = c.mul_(r)  # c is ours
    g = grad_out.clone().mul_(weight)
    grad_x = g.sub(mean(g)).sub_(h * mean(g * h)).mul_(r)
    lead = tuple(range(x.ndim))[:-1]
    return [grad_x, h.mul_(grad_out).sum(dim=lead), grad_out.sum(dim=lead)]
