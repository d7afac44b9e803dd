"""Honest solutions that differ in the backward pass: of the layer (an autograd.Function), or of batch_norm_backward."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab01_batch_norm.plain import PLAIN, PLAIN_1D, both, edit

FUNCTION = '''\
import torch
from torch import nn


class _Normalize(torch.autograd.Function):
    """x -> (x - mean) / std per channel; `constant` tells that mean and std do not depend on x."""

    @staticmethod
    def forward(ctx, x, weight, bias, mean, var, eps, constant):
        shape = (1, -1) + (1,) * (x.dim() - 2)
        inv_std = (var + eps).rsqrt().view(shape)
        x_hat = (x - mean.view(shape)) * inv_std
        ctx.save_for_backward(x_hat, inv_std, weight)
        ctx.constant = constant
        if weight is None:
            return x_hat.clone()
        return x_hat * weight.view(shape) + bias.view(shape)

    @staticmethod
    def backward(ctx, grad_out):
        x_hat, inv_std, weight = ctx.saved_tensors
        shape = (1, -1) + (1,) * (x_hat.dim() - 2)
        axes = [axis for axis in range(x_hat.dim()) if axis != 1]
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[1]:
            grad_weight = (grad_out * x_hat).sum(axes)
        if ctx.needs_input_grad[2]:
            grad_bias = grad_out.sum(axes)
        if ctx.needs_input_grad[0]:
            grad_x = grad_out if weight is None else grad_out * weight.view(shape)
            if not ctx.constant:
                along = (grad_x * x_hat).mean(axes, keepdim=True)
                grad_x = grad_x - grad_x.mean(axes, keepdim=True) - x_hat * along
            grad_x = grad_x * inv_std
        return grad_x, grad_weight, grad_bias, None, None, None, None


'''
FUNCTION_1D = FUNCTION + edit(
    PLAIN_1D.removeprefix("import torch\nfrom torch import nn\n\n\n"),
    ("            mean = x.mean(dim=axes)\n", "            mean = x.detach().mean(dim=axes)\n"),
    ("var = ((x - mean.view(shape)) ** 2)", "var = ((x.detach() - mean.view(shape)) ** 2)"),
    (
        """        x_hat = (x - mean.view(shape)) / torch.sqrt(var.view(shape) + self.eps)
        if self.weight is None:
            return x_hat
        return self.weight.view(shape) * x_hat + self.bias.view(shape)
""",
        """        constant = not self.training and tracked
        return _Normalize.apply(x, self.weight, self.bias, mean, var, self.eps, constant)
""",
    ),
)

ZERO_TERMS = """\
import torch


def batch_norm_backward(grad_out, x, weight, eps=1e-5):
    n = x.shape[0]
    mu = x.mean(0, keepdim=True)
    xmu = x - mu
    var = (xmu**2).mean(0, keepdim=True)
    std = torch.sqrt(var + eps)
    xhat = xmu / std
    dbeta = grad_out.sum(0)
    dgamma = (grad_out * xhat).sum(0)
    dxhat = grad_out * weight
    dvar = (dxhat * xmu * -0.5 * (var + eps) ** -1.5).sum(0, keepdim=True)
    dmu = (-dxhat / std).sum(0, keepdim=True) + dvar * (-2 * xmu).sum(0, keepdim=True) / n
    dx = dxhat / std + dvar * 2 * xmu / n + dmu / n
    return dx, dgamma, dbeta
"""

GRAPH_STEPS = """\
def batch_norm_backward(grad_out, x, weight, eps=1e-5):
    # forward, one operation at a time
    n = x.size(0)
    mu = x.sum(0) / n
    xmu = x - mu
    sq = xmu * xmu
    var = sq.sum(0) / n
    sqrtvar = (var + eps).sqrt()
    ivar = 1.0 / sqrtvar
    xhat = xmu * ivar
    # backward, the same operations from the last to the first
    grad_bias = grad_out.sum(0)
    grad_weight = (xhat * grad_out).sum(0)
    dxhat = grad_out * weight
    divar = (dxhat * xmu).sum(0)
    dxmu1 = dxhat * ivar
    dsqrtvar = -divar / (sqrtvar * sqrtvar)
    dvar = 0.5 * dsqrtvar / sqrtvar
    dsq = dvar.expand_as(sq) / n
    dxmu2 = 2 * xmu * dsq
    dx1 = dxmu1 + dxmu2
    dmu = -dx1.sum(0)
    return dx1 + dmu.expand_as(x) / n, grad_weight, grad_bias
"""

PROJECTION = """\
import torch


def batch_norm_backward(grad_out, x, weight, eps=1e-5):
    n, features = x.shape
    ones = torch.ones(n, dtype=x.dtype)
    away_from_ones = torch.eye(n, dtype=x.dtype) - torch.outer(ones, ones) / n
    centred = away_from_ones @ x
    std = torch.sqrt(torch.einsum("nc,nc->c", centred, centred) / n + eps)
    x_hat = centred / std
    columns = []
    for c in range(features):
        projection = away_from_ones - torch.outer(x_hat[:, c], x_hat[:, c]) / n
        columns.append(weight[c] / std[c] * (projection @ grad_out[:, c]))
    return torch.stack(columns, 1), torch.einsum("nc,nc->c", grad_out, x_hat), ones @ grad_out
"""

NUMPY = """\
import numpy as np
import torch


def batch_norm_backward(grad_out, x, weight, eps=1e-5):
    dy, data, gamma = (t.detach().cpu().numpy().astype(np.float64) for t in (grad_out, x, weight))
    n = len(data)
    x_hat = data - data.mean(axis=0)
    std = np.sqrt(np.mean(x_hat**2, axis=0) + eps)
    x_hat /= std
    dgamma, dbeta = np.sum(dy * x_hat, axis=0), np.sum(dy, axis=0)
    dx = gamma / (n * std) * (n * dy - dbeta - x_hat * dgamma)
    return tuple(torch.from_numpy(np.ascontiguousarray(a)).to(x.dtype) for a in (dx, dgamma, dbeta))
"""

BACKWARD: tuple[Variant, ...] = (
    Variant(
        "autograd-function",
        "A torch.autograd.Function with a backward pass written by hand",
        {**PLAIN, **both(FUNCTION_1D)},
    ),
    Variant(
        "zero-terms",
        "The backward pass keeps a term that is always zero",
        {**PLAIN, "batch_norm_backward": ZERO_TERMS},
    ),
    Variant(
        "graph-steps",
        "The backward pass walks the graph one operation at a time",
        {**PLAIN, "batch_norm_backward": GRAPH_STEPS},
    ),
    Variant(
        "projection-matrix",
        "The backward pass is a projection matrix for each feature",
        {**PLAIN, "batch_norm_backward": PROJECTION},
    ),
    Variant(
        "numpy-inside",
        "The backward pass is computed in NumPy",
        {**PLAIN, "batch_norm_backward": NUMPY},
    ),
)
