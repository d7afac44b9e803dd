import torch
from torch import nn


def one_row(row, eps):
    # a beginner's way: sums, number by number
    n = len(row)
    total = row[0] * 0
    for value in row:
        total = total + value
    mu = total / n
    squares = row[0] * 0
    for value in row:
        squares = squares + (value - mu) * (value - mu)
    v = squares / n
    return torch.stack([(value - mu) / torch.sqrt(v + eps) for value in row])


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        print("making a layer norm for", normalized_shape)
        if type(normalized_shape) == int:
            normalized_shape = [normalized_shape]
        self.my_shape = list(normalized_shape)
        self.my_eps = eps
        if elementwise_affine:
            self.weight = torch.nn.Parameter(torch.ones(*self.my_shape))
            self.bias = torch.nn.Parameter(torch.zeros(*self.my_shape))
        else:
            self.weight = None
            self.bias = None

    def forward(self, x):
        k = len(self.my_shape)
        if x.dim() < k or list(x.shape[-k:]) != self.my_shape:
            raise ValueError("wrong shape " + str(x.shape))
        size = 1
        for s in self.my_shape:
            size = size * s
        rows = x.reshape(-1, size)
        out = [one_row(row, self.my_eps) for row in rows]
        y = torch.stack(out).reshape(x.shape)
        if self.weight is not None:
            y = y * self.weight
            y = y + self.bias
        return y


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        if type(normalized_shape) == int:
            normalized_shape = [normalized_shape]
        self.my_shape = list(normalized_shape)
        self.my_eps = eps
        if elementwise_affine:
            self.weight = torch.nn.Parameter(torch.ones(*self.my_shape))
        else:
            self.weight = None

    def forward(self, x):
        if self.my_eps is None:
            e = torch.finfo(x.dtype).eps
        else:
            e = self.my_eps
        size = 1
        for s in self.my_shape:
            size = size * s
        out = []
        for row in x.reshape(-1, size):
            s = 0
            for value in row:
                s = s + value**2
            out.append(row / torch.sqrt(s / size + e))
        y = torch.stack(out).reshape(x.shape)
        if self.weight is None:
            return y
        return (y * self.weight).to(x.dtype)


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    d = x.shape[-1]
    gx = torch.zeros(x.shape, dtype=x.dtype)
    gx_rows = gx.view(-1, d)
    gw = torch.zeros(d, dtype=x.dtype)
    gb = torch.zeros(d, dtype=x.dtype)
    for r, (g, row) in enumerate(zip(grad_out.reshape(-1, d), x.reshape(-1, d))):
        mu = row.sum() / d
        v = ((row - mu) ** 2).sum() / d
        root = (v + eps) ** 0.5
        h = (row - mu) / root
        gw += g * h
        gb += g
        a = g * weight
        gx_rows[r] = (a - a.mean() - h * (a * h).mean()) / root
    return gx, gw, gb
