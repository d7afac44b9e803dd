import torch
import torch.nn as nn


class GroupNorm(nn.Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        if affine:
            self.weight = nn.Parameter(torch.empty(num_channels))
            self.bias = nn.Parameter(torch.empty(num_channels))
            nn.init.constant_(self.weight, 1)
            nn.init.constant_(self.bias, 0)
        else:
            self.register_parameter("weight", None)
            self.register_parameter("bias", None)

    def forward(self, input):
        if input.dim() < 2:
            raise RuntimeError("at least two axes")
        if input.shape[1] != self.num_channels:
            raise RuntimeError("wrong number of channels")
        if self.num_channels % self.num_groups != 0:
            raise ValueError("C must be divisible by G")
        done = []
        for part in input.double().chunk(self.num_groups, dim=1):
            axes = list(range(1, part.dim()))
            var, mean = torch.var_mean(part, dim=axes, correction=0, keepdim=True)
            done.append((part - mean) / (var + self.eps).sqrt())
        out = torch.cat(done, dim=1)
        if self.affine:
            shape = [1] * out.dim()
            shape[1] = self.num_channels
            out = out * self.weight.double().view(shape) + self.bias.double().view(shape)
        return out.to(input.dtype)


class InstanceNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__()
        # a group of its own for each channel
        self.norm_eps = eps
        self.c = num_features
        if affine:
            self.weight = nn.Parameter(torch.ones(num_features))
            self.bias = nn.Parameter(torch.zeros(num_features))
        else:
            self.weight = self.bias = None

    def forward(self, x):
        try:
            n, c, h, w = x.shape
        except ValueError:
            raise ValueError(f"four axes, please; got {x.dim()}") from None
        if c != self.c:
            raise ValueError(f"{c} channels, not {self.c}")
        if h * w < 2:
            raise ValueError("a single pixel has no variance")
        planes = []
        for channel in x.unbind(1):
            pixels = channel.flatten(1)
            mean = pixels.mean(1)[:, None, None]
            var = pixels.var(1, unbiased=False)[:, None, None]
            planes.append((channel - mean) / torch.sqrt(var + self.norm_eps))
        y = torch.stack(planes, 1)
        if self.weight is not None:
            y = torch.einsum("nchw,c->nchw", y, self.weight) + self.bias[None, :, None, None]
        return y


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    kind = x.dtype
    parts, g_w, g_b = [], [], []
    size = x.shape[1] // num_groups
    for k in range(num_groups):
        here = slice(k * size, (k + 1) * size)
        xs, gs, ws = x[:, here].double(), grad_out[:, here].double(), weight[here].double()
        column = [-1] + [1] * (x.dim() - 2)
        axes = tuple(range(1, x.dim()))
        m = xs[0].numel()
        mean = xs.mean(axes, keepdim=True)
        var = (xs - mean).pow(2).mean(axes, keepdim=True)
        inv = (var + eps) ** -0.5
        h = (xs - mean) * inv
        gh = gs * ws.view(column)
        dvar = (gh * (xs - mean)).sum(axes, keepdim=True) * -0.5 * inv**3
        dmean = -(gh * inv).sum(axes, keepdim=True)
        parts.append(gh * inv + dvar * 2 * (xs - mean) / m + dmean / m)
        rest = [0, *range(2, x.dim())]
        g_w.append((gs * h).sum(rest))
        g_b.append(gs.sum(rest))
    return torch.cat(parts, 1).to(kind), torch.cat(g_w).to(kind), torch.cat(g_b).to(kind)


def statistics_shape(kind, n, l, c, num_groups=None):
    assert kind in ("batch", "layer", "token", "group"), kind
    if kind == "batch":
        shape = [c]
    elif kind == "group":
        shape = [n, num_groups]
    else:
        shape = [n] if kind == "layer" else [n, l]
    return tuple(shape)
