"""Honest layers whose statistics are computed in another way than the plain ones. All of them agree with torch.nn.

Where only a few lines differ, the source is the plain one with those lines exchanged.
"""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab01_batch_norm.plain import (
    AFFINE,
    IMPORT,
    MEAN,
    PLAIN_BACKWARD,
    RUNNING_MEAN,
    RUNNING_VAR,
    VAR,
    X_HAT,
    both,
    edit,
    in_style,
)

CHANNEL_LOOP = """\
import torch
from torch import nn


class BatchNorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = nn.Parameter(torch.ones(num_features))
            self.bias = nn.Parameter(torch.zeros(num_features))
        else:
            self.weight = None
            self.bias = None
        if track_running_stats:
            self.register_buffer("running_mean", torch.zeros(num_features))
            self.register_buffer("running_var", torch.ones(num_features))
            self.register_buffer("num_batches_tracked", torch.tensor(0, dtype=torch.long))
        else:
            self.running_mean = self.running_var = self.num_batches_tracked = None

    def forward(self, x):
        if x.dim() not in (2, 3) or x.size(1) != self.num_features:
            raise ValueError(f"cannot normalize {tuple(x.shape)} with {self.num_features} channels")
        from_batch = self.training or not self.track_running_stats
        if from_batch and x[:, 0].numel() == 1:
            raise ValueError("need more than one value per channel")
        if self.training and self.track_running_stats:
            self.num_batches_tracked += 1
        channels = []
        for c in range(self.num_features):
            column = x[:, c]
            if from_batch:
                total = 0.0
                for row in column:
                    total = total + row.sum()
                mean = total / column.numel()
                var = (column - mean).pow(2).sum() / column.numel()
                if self.training and self.track_running_stats:
                    with torch.no_grad():
                        m = self.momentum
                        if m is None:
                            m = 1.0 / float(self.num_batches_tracked)
                        k = column.numel()
                        self.running_mean[c] = (1 - m) * self.running_mean[c] + m * mean
                        self.running_var[c] = (1 - m) * self.running_var[c] + m * var * k / (k - 1)
            else:
                mean, var = self.running_mean[c], self.running_var[c]
            column = (column - mean) / (var + self.eps) ** 0.5
            if self.affine:
                column = column * self.weight[c] + self.bias[c]
            channels.append(column)
        return torch.stack(channels, dim=1)
"""

COLUMN_LOOP_BACKWARD = """\
import torch


def batch_norm_backward(grad_out, x, weight, eps=1e-5):
    n, features = x.shape
    grad_x = torch.zeros_like(x)
    grad_weight = torch.zeros_like(weight)
    grad_bias = torch.zeros_like(weight)
    for c in range(features):
        centred = x[:, c] - x[:, c].mean()
        std = (centred.dot(centred) / n + eps) ** 0.5
        x_hat = centred / std
        grad_weight[c] = grad_out[:, c].dot(x_hat)
        grad_bias[c] = grad_out[:, c].sum()
        for i in range(n):
            inner = n * grad_out[i, c] - grad_bias[c] - x_hat[i] * grad_weight[c]
            grad_x[i, c] = weight[c] * inner / (n * std)
    return grad_x, grad_weight, grad_bias
"""

EINOPS_BACKWARD = """\
import torch
from einops import rearrange, reduce, repeat


def batch_norm_backward(grad_out, x, weight, eps=1e-5):
    n = x.shape[0]
    mean = reduce(x, "n c -> 1 c", "mean")
    inv_std = (reduce((x - mean) ** 2, "n c -> 1 c", "mean") + eps).rsqrt()
    x_hat = (x - mean) * inv_std
    grad_bias = reduce(grad_out, "n c -> c", "sum")
    grad_weight = reduce(grad_out * x_hat, "n c -> c", "sum")
    g = grad_out - repeat(grad_bias, "c -> n c", n=n) / n - x_hat * rearrange(grad_weight, "c -> 1 c") / n
    return rearrange(weight, "c -> 1 c") * inv_std * g, grad_weight, grad_bias
"""

FLOAT32_BACKWARD = edit(
    PLAIN_BACKWARD,
    (
        "    mean = x.mean(dim=0)\n",
        "    dtype = x.dtype\n"
        "    grad_out, x, weight = grad_out.float(), x.float(), weight.float()\n"
        "    mean = x.mean(dim=0)\n",
    ),
    (
        "return grad_x, grad_weight, grad_bias",
        "return tuple(grad.to(dtype) for grad in (grad_x, grad_weight, grad_bias))",
    ),
)

STATISTICS: tuple[Variant, ...] = (
    in_style(
        "var-mean",
        "torch.var_mean, and lerp_ for the running statistics",
        (MEAN, "var, mean = torch.var_mean(x, dim=axes, correction=0)"),
        (f"            {VAR}\n", ""),
        (RUNNING_MEAN, "self.running_mean.lerp_(mean, rate)"),
        (RUNNING_VAR, "self.running_var.lerp_(var * (n / (n - 1)), rate)"),
    ),
    in_style(
        "welford",
        "Welford's one-pass update, one sample after another",
        (
            f"{MEAN}\n            {VAR}",
            "values = x.transpose(0, 1).flatten(1)\n"
            "            mean = squares = torch.zeros_like(values[:, 0])\n"
            "            for seen, value in enumerate(values.unbind(1), start=1):\n"
            "                delta = value - mean\n"
            "                mean = mean + delta / seen\n"
            "                squares = squares + delta * (value - mean)\n"
            "            var = squares / n",
        ),
    ),
    in_style(
        "sums-not-means",
        "Sums divided by a count, reciprocal roots",
        (MEAN, "mean = x.sum(axes) / n"),
        (VAR, "deviation = x - mean.view(shape)\n            var = (deviation * deviation).sum(axes) / n"),
        (X_HAT, "x_hat = (x - mean.view(shape)) * torch.rsqrt(var.view(shape) + self.eps)"),
    ),
    in_style(
        "einops",
        "einops for every change of shape",
        (IMPORT, IMPORT + "from einops import rearrange, reduce\n"),
        (
            f"{MEAN}\n            {VAR}",
            'mean = reduce(x, "n c ... -> c", "mean")\n'
            '            flat = rearrange(x, "n c ... -> (n ...) c")\n'
            '            var = reduce((flat - mean) ** 2, "k c -> c", "mean")',
        ),
        backward=EINOPS_BACKWARD,
    ),
    in_style(
        "float32-inside",
        "Everything is computed in float32 and cast back",
        (MEAN, "dtype, x = x.dtype, x.float()\n            mean = x.mean(dim=axes)"),
        (
            "mean, var = self.running_mean, self.running_var\n",
            "mean, var = self.running_mean.float(), self.running_var.float()\n"
            "            dtype, x = x.dtype, x.float()\n",
        ),
        ("return x_hat\n", "return x_hat.to(dtype)\n"),
        (
            AFFINE,
            "return (self.weight.float().view(shape) * x_hat + self.bias.float().view(shape)).to(dtype)",
        ),
        backward=FLOAT32_BACKWARD,
    ),
    Variant(
        "python-loops",
        "Loops over channels and rows, scalars throughout",
        {**both(CHANNEL_LOOP), "batch_norm_backward": COLUMN_LOOP_BACKWARD},
    ),
    in_style(
        "einsum",
        "Means as products with a vector of equal weights",
        (
            f"{MEAN}\n            {VAR}",
            "columns = x.reshape(x.shape[0], x.shape[1], -1)\n"
            "            share = torch.full((x.shape[0], columns.shape[2]), 1 / n, dtype=x.dtype)\n"
            '            mean = torch.einsum("ncl,nl->c", columns, share)\n'
            "            columns = columns - mean[:, None]\n"
            '            var = torch.einsum("ncl,ncl,nl->c", columns, columns, share)',
        ),
    ),
    in_style(
        "folded-evaluation",
        "In evaluation one scale and one shift per channel",
        (
            "            mean, var = self.running_mean, self.running_var\n",
            "            scale = torch.rsqrt(self.running_var + self.eps)\n"
            "            if self.weight is not None:\n"
            "                scale = scale * self.weight\n"
            "            shift = -self.running_mean * scale\n"
            "            if self.bias is not None:\n"
            "                shift = shift + self.bias\n"
            "            return x * scale.view(shape) + shift.view(shape)\n",
        ),
    ),
)
