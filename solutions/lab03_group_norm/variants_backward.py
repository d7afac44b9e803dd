"""Honest backward functions and statistics_shape in other styles; the layers are the plain ones."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab03_group_norm.plain import PLAIN_BACKWARD, RETURN, edit, variant

STAGES = """\
import torch


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    n, c = x.shape[:2]
    rows = x.reshape(n * num_groups, -1)
    m = rows.size(1)
    mu = rows.sum(1, keepdim=True) / m
    xmu = rows - mu
    var = (xmu * xmu).sum(1, keepdim=True) / m
    std = (var + eps) ** 0.5
    xhat = xmu / std
    dy = grad_out.reshape(n, c, -1)
    dgamma = torch.einsum("ncs,ncs->c", dy, xhat.reshape(n, c, -1))
    dbeta = dy.sum((0, 2))
    dxhat = (dy * weight[:, None]).reshape(n * num_groups, -1)
    dvar = (dxhat * xmu * -0.5 * (var + eps) ** -1.5).sum(1, keepdim=True)
    dmu = (-dxhat / std).sum(1, keepdim=True) + dvar * (-2 * xmu).sum(1, keepdim=True) / m
    dx = dxhat / std + dvar * 2 * xmu / m + dmu / m
    return dx.reshape(x.shape), dgamma, dbeta
"""

LOOPS = """\
import torch


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    grad_x, grad_weight, grad_bias = torch.zeros_like(x), torch.zeros_like(weight), torch.zeros_like(weight)
    width = x.shape[1] // num_groups
    for sample in range(x.shape[0]):
        for first in range(0, x.shape[1], width):
            mine = slice(first, first + width)
            values, arriving = x[sample, mine], grad_out[sample, mine]
            mean = values.mean()
            std = ((values - mean).pow(2).mean() + eps).sqrt()
            hat = (values - mean) / std
            for k in range(width):
                grad_weight[first + k] += (arriving[k] * hat[k]).sum()
                grad_bias[first + k] += arriving[k].sum()
            g = torch.stack([arriving[k] * weight[first + k] for k in range(width)])
            grad_x[sample, mine] = (g - g.mean() - hat * (g * hat).mean()) / std
    return grad_x, grad_weight, grad_bias
"""

NUMPY = """\
import numpy as np
import torch


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    dy, data, gamma = (t.detach().cpu().numpy().astype(np.float64) for t in (grad_out, x, weight))
    n, c, *space = data.shape
    column = gamma.reshape(c, *[1] * len(space))
    sets = data.reshape(n, num_groups, -1)
    x_hat = sets - sets.mean(axis=-1, keepdims=True)
    std = np.sqrt(np.mean(x_hat**2, axis=-1, keepdims=True) + eps)
    x_hat /= std
    rest = (0, *range(2, data.ndim))
    dgamma, dbeta = np.sum(dy * x_hat.reshape(data.shape), axis=rest), np.sum(dy, axis=rest)
    g = (dy * column).reshape(sets.shape)
    g = g - g.mean(-1, keepdims=True) - x_hat * (g * x_hat).mean(-1, keepdims=True)
    dx = (g / std).reshape(data.shape)
    return tuple(torch.from_numpy(np.ascontiguousarray(a)).to(x.dtype) for a in (dx, dgamma, dbeta))
"""

PROJECTION = """\
import torch


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    n, c = x.shape[0], x.shape[1]
    sets = x.reshape(n, num_groups, -1)
    m = sets.shape[-1]
    centring = torch.eye(m, dtype=x.dtype) - torch.full((m, m), 1 / m, dtype=x.dtype)
    centred = sets @ centring
    std = torch.sqrt(torch.einsum("ngm,ngm->ng", centred, centred) / m + eps)
    x_hat = centred / std[..., None]
    jacobian = centring - torch.einsum("ngi,ngj->ngij", x_hat, x_hat) / m
    spread = weight.repeat_interleave(x[0, 0].numel()).reshape(x.shape[1:])
    g = (grad_out * spread).reshape(sets.shape)
    grad_x = torch.einsum("ngij,ngj,ng->ngi", jacobian, g, 1 / std).reshape(x.shape)
    flat = grad_out.reshape(n, c, -1)
    return grad_x, (flat * x_hat.reshape(flat.shape)).sum((0, 2)), flat.sum((0, 2))
"""

FLOAT32 = edit(
    PLAIN_BACKWARD,
    ("    column = [1, -1]",
     "    dtype = x.dtype\n"
     "    grad_out, x, weight = grad_out.float(), x.float(), weight.float()\n"
     "    column = [1, -1]"),
    (RETURN, "return grad_x.reshape(x.shape).to(dtype), grad_weight.to(dtype), grad_bias.to(dtype)"),
)  # fmt: skip

DICTIONARY = """\
def statistics_shape(kind, n, l, c, num_groups=None):
    return {"batch": (c,), "layer": (n,), "token": (n, l), "group": (n, num_groups)}[kind]
"""

MEASURED = """\
import torch


def statistics_shape(kind, n, l, c, num_groups=None):
    x = torch.empty(n, l, c, device="meta")
    if kind == "group":
        if num_groups is None or c % num_groups:
            raise ValueError("num_groups must divide c")
        return x.unflatten(2, (num_groups, -1)).mean(dim=(1, 3)).shape
    axes = {"batch": (0, 1), "layer": (1, 2), "token": (2,)}
    if kind not in axes:
        raise ValueError(kind)
    return x.mean(dim=axes[kind]).shape
"""

MATCH = """\
def statistics_shape(kind, n, l, c, num_groups=None):
    match kind:
        case "batch":
            left = [c]
        case "layer":
            left = [n]
        case "token":
            left = [n, l]
        case "group":
            left = [n, num_groups]
        case _:
            raise NotImplementedError(kind)
    return tuple(left)
"""

STRIKING_OUT = """\
def statistics_shape(kind, n, l, c, num_groups=None):
    pooled = {"batch": "nl", "layer": "lc", "token": "c", "group": "lk"}.get(kind)
    if pooled is None:
        raise TypeError(f"no such kind: {kind}")
    axes = {"n": n, "l": l, "c": c}
    if kind == "group":
        axes = {"n": n, "l": l, "g": num_groups, "k": c // num_groups}
    return tuple(size for name, size in axes.items() if name not in pooled)
"""

BACKWARD: tuple[Variant, ...] = (
    variant(
        "stages", "The backward pass keeps a term that is always zero; shapes from a dictionary",
        group_norm_backward=STAGES, statistics_shape=DICTIONARY,
    ),
    variant(
        "backward-loops", "Backward by loops over samples and groups; shapes that torch measures",
        group_norm_backward=LOOPS, statistics_shape=MEASURED,
    ),
    variant("numpy-inside", "Backward in NumPy; shapes by match", group_norm_backward=NUMPY, statistics_shape=MATCH),
    variant(
        "projection-matrix", "Backward as a matrix for each group; shapes by striking axes out",
        group_norm_backward=PROJECTION, statistics_shape=STRIKING_OUT,
    ),
    variant("backward-float32", "Backward in float32, cast back", group_norm_backward=FLOAT32),
)  # fmt: skip
