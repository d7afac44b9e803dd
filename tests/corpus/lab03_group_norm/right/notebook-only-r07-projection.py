"""Linear algebra: centring is a projection, the backward pass is a Jacobian."""
import torch


def statistics_shape(kind, n, l, c, num_groups=None):
    names = "batch layer token group".split()
    return ((c,), (n,), (n, l), (n, num_groups))[names.index(kind)]  # index raises ValueError


def _centre(rows):
    m = rows.shape[-1]
    one = torch.ones(m, 1, dtype=rows.dtype, device=rows.device)
    for _ in range(2):  # twice: the second takes the rounding of the first away
        rows = rows - (rows @ one / m) @ one.T
    return rows


def _forward(x, groups, eps):
    rows = x.reshape(x.shape[0], groups, x.shape[1:].numel() // groups)
    d = _centre(rows)
    var = torch.einsum("ngi,ngi->ng", d, d) / d.shape[-1]
    std = (var + eps).pow(0.5)
    return d / std[:, :, None], std


def _affine(y, weight, bias):
    return torch.einsum("nc...,c->nc...", y, weight) + bias[(...,) + (None,) * (y.ndim - 2)]


class GroupNorm(torch.nn.Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        torch.nn.Module.__init__(self)
        q, r = divmod(num_channels, num_groups)
        if r:
            raise ValueError("num_groups must divide num_channels")
        self.shape = (num_groups, q)
        self.eps = eps
        self.weight = self.bias = None
        if affine:
            self.weight = torch.nn.Parameter(torch.ones(num_channels))
            self.bias = torch.nn.Parameter(torch.zeros(num_channels))

    def forward(self, x):
        if x.ndim < 2:
            raise IndexError("no channels")
        if x.shape[1] != self.shape[0] * self.shape[1]:
            raise ValueError("channels")
        y = _forward(x, self.shape[0], self.eps)[0].reshape(x.shape)
        return y if self.weight is None else _affine(y, self.weight, self.bias)


class InstanceNorm2d(torch.nn.Module):
    def __init__(self, num_features, eps=1e-5, affine=False):
        torch.nn.Module.__init__(self)
        self.num_features, self.eps = num_features, eps
        self.weight = self.bias = None
        if affine:
            self.weight = torch.nn.Parameter(torch.ones(num_features))
            self.bias = torch.nn.Parameter(torch.zeros(num_features))

    def forward(self, x):
        n, c, height, width = x.shape  # ValueError for another rank
        if c != self.num_features or height * width == 1:
            raise ValueError(tuple(x.shape))
        y = _forward(x, c, self.eps)[0].reshape(x.shape)
        return y if self.weight is None else _affine(y, self.weight, self.bias)


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    x_hat, std = _forward(x, num_groups, eps)
    n, groups, m = x_hat.shape
    g = torch.einsum("nc...,c->nc...", grad_out, weight).reshape(n, groups, m)
    eye = torch.eye(m, dtype=x.dtype)
    jacobian = (eye - 1 / m - x_hat[..., :, None] * x_hat[..., None, :] / m) / std[..., None, None]
    grad_x = (jacobian @ g[..., None]).reshape(x.shape)
    c = x.shape[1]
    dy = grad_out.reshape(n, c, -1)
    return (
        grad_x,
        torch.einsum("ncs,ncs->c", dy, x_hat.reshape(n, c, -1)),
        torch.einsum("ncs->c", dy),
    )
