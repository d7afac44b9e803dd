import torch
from torch import nn


def make_axes(k):
    return list(range(-k, 0))


def make_moments(axes):
    def moments(x):
        mean = x.sum(axes, keepdim=True) / count(x)
        return mean, ((x - mean) ** 2).sum(axes, keepdim=True) / count(x)

    def count(x):
        m = 1
        for a in axes:
            m *= x.size(a)
        return m

    return moments


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.register_parameter("weight", None)
        self.register_parameter("bias", None)
        if elementwise_affine:
            self.weight = nn.Parameter(torch.ones(self.normalized_shape))
            self.bias = nn.Parameter(torch.zeros(self.normalized_shape))

    def forward(self, input, /):
        want, got = self.normalized_shape, tuple(input.shape)
        if got[len(got) - len(want):] != want or len(got) < len(want):
            raise ValueError
        mean, var = make_moments(make_axes(len(want)))(input)
        out = (input - mean).div((var + self.eps).sqrt())
        for op, p in ((torch.mul, self.weight), (torch.add, self.bias)):
            if p is not None:
                out = op(out, p)
        return out


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    with torch.no_grad():
        mean, var = make_moments([-1])(x)
        rstd = (var + eps).rsqrt()
        x_hat = (x - mean) * rstd
        dh = grad_out * weight
        # project dh on the complement of 1, then correct along x_hat
        dh0 = dh - dh.mean(-1, keepdim=True)
        grad_x = rstd * (dh0 - x_hat * (dh0 * x_hat).mean(-1, keepdim=True))
        gw = (grad_out * x_hat).reshape(-1, x.shape[-1]).sum(dim=0)
        gb = grad_out.reshape(-1, x.shape[-1]).sum(dim=0)
    return grad_x, gw, gb


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps_of = (lambda d: torch.finfo(d).eps) if eps is None else (lambda d: eps)
        self.weight = None
        if elementwise_affine:
            self.weight = nn.Parameter(torch.ones(self.normalized_shape))

    def forward(self, x):
        k = len(self.normalized_shape)
        norm = torch.linalg.vector_norm  # only for the value test below, not in the graph
        ms = (x ** 2).sum(make_axes(k), keepdim=True) / torch.Size(self.normalized_shape).numel()
        x_hat = x * (1 / torch.sqrt(ms + self.eps_of(x.dtype)))
        return x_hat if self.weight is None else (x_hat * self.weight).to(x)
