"""Honest solutions written with other manners: precision, names, closures, prints, matching, odd but right arithmetic."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab02_layer_norm.plain import (
    AFFINE,
    GUARD,
    MEAN,
    PLAIN,
    PLAIN_BACKWARD,
    PLAIN_RMS,
    RMS_HAT,
    SQUARE,
    VAR,
    X_HAT,
    edit,
    in_style,
)

FLOAT32_BACKWARD = """\
import torch


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    dtype = x.dtype
    grad_out, x, weight = (t.float() for t in (grad_out, x, weight))
    var, mean = torch.var_mean(x, -1, unbiased=False, keepdim=True)
    s = (var + eps).sqrt()
    x_hat = (x - mean) / s
    g = weight * grad_out
    grad_x = (g - g.mean(-1, keepdim=True) - x_hat * (g * x_hat).mean(-1, keepdim=True)) / s
    leading = tuple(range(x.dim() - 1))
    return tuple(t.to(dtype) for t in (grad_x, (grad_out * x_hat).sum(leading), grad_out.sum(leading)))
"""

CLOSURES_LAYER = '''\
import torch
from torch import nn


def over(shape):
    """The mean over the last axes, as a function of x."""
    axes = [*range(-len(shape), 0)]
    return lambda x: x.mean(axes, True)


def normalizer(mean, eps):
    def standardize(x):
        x = x - mean(x)
        return x / (mean(x.square()) + eps).sqrt()

    return standardize


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        nn.Module.__init__(self)
        self.shape = shape = torch.empty(normalized_shape).shape
        self.standardize = normalizer(over(shape), eps)
        self.weight, self.bias = (
            map(nn.Parameter, (torch.ones(shape), torch.zeros(shape))) if elementwise_affine else (None, None)
        )

    def check(self, x):
        if x.shape[-len(self.shape) :] != self.shape:
            raise ValueError(f"expected [..., {', '.join(map(str, self.shape))}], got {list(x.shape)}")
        return x

    def forward(self, x):
        x = self.standardize(self.check(x))
        return x if self.weight is None else torch.addcmul(self.bias, x, self.weight)
'''

CLOSURES_RMS = """\
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        nn.Module.__init__(self)
        shape = torch.empty(normalized_shape).shape
        self.eps = (lambda x: torch.finfo(x.dtype).eps) if eps is None else (lambda x: eps)
        self.rms = lambda x: (x.pow(2).mean([*range(-len(shape), 0)], True) + self.eps(x)).pow(0.5)
        self.weight = nn.Parameter(torch.ones(shape)) if elementwise_affine else None

    def forward(self, x):
        y = x / self.rms(x)
        return y if self.weight is None else y * self.weight.to(x.dtype)
"""

GREEK_LAYER = """\
import torch as τ
from torch.nn import Module, Parameter as Lernbar


class LayerNorm(Module):
    def __init__(selbst, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        match normalized_shape:
            case int(d):
                selbst.form = (d,)
            case [*alle]:
                selbst.form = (*alle,)
        selbst.ε = eps
        selbst.weight, selbst.bias = [
            Lernbar(f(selbst.form)) if elementwise_affine else None for f in (τ.ones, τ.zeros)
        ]

    def forward(selbst, χ):
        if (*χ.shape[-len(selbst.form):],) != selbst.form:
            raise ValueError(f"{[*χ.shape]} ?")
        achsen, m = range(-len(selbst.form), 0), 1
        for a in achsen:
            m *= χ.shape[a]
        μ, σ2 = χ, 0
        for a in achsen:
            μ = μ.sum(a, keepdim=True)
        ξ = χ - μ / m
        σ2 = ξ * ξ
        for a in achsen:
            σ2 = σ2.sum(a, keepdim=True)
        ζ = ξ / (σ2 / m + selbst.ε) ** 0.5
        return ζ if selbst.weight is None else selbst.weight * ζ + selbst.bias
"""

GREEK_BACKWARD = """\
def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    δ, γ, m = grad_out, weight, x.shape[-1]
    ξ = x - x.mean(-1)[..., None]
    σ = (ξ.square().mean(-1)[..., None] + eps).sqrt()
    ξ = ξ / σ
    δγ = δ * γ
    dx = (δγ - (δγ.sum(-1)[..., None] + ξ * (δγ * ξ).sum(-1)[..., None]) / m) / σ
    dγ, dβ = [s.flatten(0, -2).sum(0) for s in (δ * ξ, δ)]
    return [dx, dγ, dβ]
"""

PROJECTION_BACKWARD = """\
import torch


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    d = x.shape[-1]
    centre = torch.eye(d, dtype=x.dtype) - torch.full((d, d), 1 / d, dtype=x.dtype)
    rows, upstream = x.reshape(-1, d) @ centre, grad_out.reshape(-1, d)
    s = (rows.pow(2).mean(1) + eps).sqrt()
    h = rows / s[:, None]
    jacobians = (torch.eye(d, dtype=x.dtype) - h[:, :, None] * h[:, None, :] / d) @ centre
    grad_x = torch.einsum("rij,ri,i->rj", jacobians, upstream, weight) / s[:, None]
    return grad_x.reshape(x.shape), torch.einsum("rd,rd->d", upstream, h), upstream.sum(0)
"""

WELFORD_LAYER = """\
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        self.normalized_shape = torch.zeros(normalized_shape).size()
        self.eps = eps
        one, zero = torch.ones(self.normalized_shape), torch.zeros(self.normalized_shape)
        self.weight = nn.Parameter(one) if elementwise_affine else None
        self.bias = nn.Parameter(zero) if elementwise_affine else None

    def forward(self, x):
        k = len(self.normalized_shape)
        if x.ndim < k or x.size()[x.ndim - k:] != self.normalized_shape:
            raise ValueError("last axes do not match")
        mean = m2 = torch.zeros(x.shape[: x.ndim - k], dtype=x.dtype)
        values = x.reshape(*x.shape[: x.ndim - k], -1)
        for n in range(values.shape[-1]):
            delta = values[..., n] - mean
            mean = mean + delta / (n + 1)
            m2 = m2 + delta * (values[..., n] - mean)
        at = (..., *[None] * k)
        y = (x - mean[at]) / torch.sqrt(m2 / values.shape[-1] + self.eps)[at]
        if self.weight is not None:
            y = y * self.weight
        if self.bias is not None:
            y = y + self.bias
        return y
"""

MANNERS: tuple[Variant, ...] = (
    in_style(
        "float32-inside",
        "Computes in float32 and casts back",
        (MEAN, f"wide, x = x, x.float()\n        {MEAN}"),
        (X_HAT, f"{X_HAT}\n        x_hat = x_hat.to(wide.dtype)"),
        backward=FLOAT32_BACKWARD,
        rms=edit(
            PLAIN_RMS,
            (SQUARE, SQUARE.replace("(x**2)", "(x.float() ** 2)")),
            (RMS_HAT, "x_hat = (x.float() / torch.sqrt(mean_square + eps)).to(x.dtype)"),
        ),
    ),
    Variant(
        "closures",
        "Functions that return functions; shapes from torch.empty",
        {"LayerNorm": CLOSURES_LAYER, "layer_norm_backward": PROJECTION_BACKWARD, "RMSNorm": CLOSURES_RMS},
    ),
    Variant(
        "greek-letters",
        "Greek letters, German words, structural matching; a list is returned",
        {**PLAIN, "LayerNorm": GREEK_LAYER, "layer_norm_backward": GREEK_BACKWARD},
    ),
    Variant(
        "welford",
        "Welford's running mean and variance, one value after the other",
        {**PLAIN, "LayerNorm": WELFORD_LAYER},
    ),
    in_style(
        "prints-and-warnings",
        "Prints and warns in every call",
        (GUARD, '        print("layer norm", tuple(x.shape), self.training)\n' + GUARD),
        (AFFINE, 'import warnings\n        warnings.warn("scaling and shifting", stacklevel=2)\n        ' + AFFINE),
        backward=edit(PLAIN_BACKWARD, ("    g = grad", '    print("x_hat:", x_hat)\n    g = grad')),
        rms=edit(PLAIN_RMS, (SQUARE, "print(eps)\n        " + SQUARE)),
    ),
    in_style(
        "one-expression",
        "As few names as possible; the root by a power; the variance without a mean of its own",
        (
            f"{MEAN}\n        {VAR}\n        {X_HAT}\n",
            "x_hat = x - x.mean(axes, True)\n        x_hat = x_hat * (x_hat.var(axes, False, keepdim=True) + self.eps) ** -0.5\n",
        ),
        rms=edit(
            PLAIN_RMS,
            (f"{SQUARE}\n        {RMS_HAT}\n", "x_hat = x * (x.square().mean(axes, True) + eps) ** -0.5\n"),
        ),
    ),
)
