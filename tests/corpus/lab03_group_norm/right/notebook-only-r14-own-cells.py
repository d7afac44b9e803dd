import torch
import torch.nn.functional as F
from torch import nn


def statistics_shape(kind, n, l, c, num_groups=None):
    table = {"batch": (c,), "layer": (n,), "token": (n, l), "group": (n, num_groups)}
    if kind not in table:
        raise ValueError(kind)
    return table[kind]


def to_groups(x, num_groups):
    return x.reshape(x.shape[0], num_groups, -1)


def group_statistics(grouped):
    mean = grouped.mean(2)
    return mean, (grouped - mean[..., None]).square().mean(2)


def normalize_groups(grouped, mean, var, eps):
    return (grouped - mean[..., None]) / (var[..., None] + eps).sqrt()


def from_groups(grouped, shape):
    return grouped.reshape(shape)


def per_channel(v, x):
    return v.reshape(-1, *[1] * (x.ndim - 2))


def scale_channels(x_hat, weight, bias):
    return x_hat * per_channel(weight, x_hat) + per_channel(bias, x_hat)


class GroupNorm(nn.Module):
    """Like nn.GroupNorm and F.group_norm, but my own (no torch.native_group_norm here).

    It needs no .backward() of its own: torch.autograd does that."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError("C must be divisible by G")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = nn.Parameter(torch.ones(num_channels)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_channels)) if affine else None

    def forward(self, x):
        if x.ndim < 2 or x.shape[1] != self.num_channels:
            raise ValueError("expected (N, C, *)")
        rows = to_groups(x, self.num_groups)
        y = from_groups(normalize_groups(rows, *group_statistics(rows), self.eps), x.shape)
        return y if self.weight is None else scale_channels(y, self.weight, self.bias)


class InstanceNorm2d(GroupNorm):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__(num_features, num_features, eps, affine)
        self.num_features = num_features

    def forward(self, x):
        if x.ndim != 4:
            raise ValueError("expected (N, C, H, W)")
        if x.shape[2] * x.shape[3] == 1:
            raise ValueError("one pixel")
        return super().forward(x)


def group_backward_steps(grad_out, x, num_groups, weight, eps):
    rows = to_groups(x, num_groups)
    mean, var = group_statistics(rows)
    x_hat = normalize_groups(rows, mean, var, eps)
    g = to_groups(grad_out * per_channel(weight, x), num_groups)
    inv = (var + eps).rsqrt()
    grad_var = (g * (rows - mean[..., None])).sum(2) * -0.5 * inv**3
    grad_mean = -(g.sum(2)) * inv
    m = rows.shape[2]
    grad_rows = g * inv[..., None] + (grad_var * 2 / m)[..., None] * (rows - mean[..., None]) + grad_mean[..., None] / m
    return dict(mean=mean, var=var, x_hat=x_hat, grad_x_hat=g, grad_var=grad_var, grad_mean=grad_mean,
                grad_x=from_groups(grad_rows, x.shape))


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    # no autograd here: neither loss.backward() nor torch.autograd.grad, nor F.layer_norm
    steps = group_backward_steps(grad_out, x, num_groups, weight, eps)
    axes = [a for a in range(x.ndim) if a != 1]
    return steps["grad_x"], (grad_out * from_groups(steps["x_hat"], x.shape)).sum(axes), grad_out.sum(axes)


# A cell of my own: compare with PyTorch, outside the solution.
def compare():
    torch_layer, own = nn.GroupNorm(2, 6), GroupNorm(2, 6)
    own.load_state_dict(torch_layer.state_dict())
    a = torch.randn(4, 6, 5, generator=torch.Generator().manual_seed(1), requires_grad=True)
    y = torch_layer(a)
    y.backward(torch.ones_like(y))
    dx, dw, db = group_norm_backward(torch.ones_like(y), a.detach(), 2, torch_layer.weight.detach())
    b = a.detach().reshape(4, 2, -1)
    print((y - own(a)).abs().max().item(), (dx - a.grad).abs().max().item(), F.layer_norm(b, b.shape[2:]).shape)


compare()
