"""The plain sources of lab 2, and the small edits that turn them into wrong ones.

Not the reference: that is written to be read. These texts are written to be cut: every line does one
thing, so that a mistake is one line changed. Each text defines one name and carries its own imports.
"""

from __future__ import annotations

from autograder.checks.check import Mistake, Variant
from solutions.lab01_batch_norm.plain import Edit, edit

BOOK = "book/mathematical-formulation.html#"

PLAIN_LAYER = """\
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        shape = self.normalized_shape
        self.weight = nn.Parameter(torch.ones(shape)) if elementwise_affine else None
        self.bias = nn.Parameter(torch.zeros(shape)) if elementwise_affine else None

    def forward(self, x):
        k = len(self.normalized_shape)
        if tuple(x.shape[-k:]) != self.normalized_shape:
            raise ValueError(f"the last axes must be {self.normalized_shape}, got {tuple(x.shape)}")
        axes = tuple(range(-k, 0))
        mean = x.mean(dim=axes, keepdim=True)
        var = ((x - mean) ** 2).mean(dim=axes, keepdim=True)
        x_hat = (x - mean) / torch.sqrt(var + self.eps)
        if self.weight is None:
            return x_hat
        return self.weight * x_hat + self.bias
"""

PLAIN_RMS = """\
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        shape = self.normalized_shape
        self.weight = nn.Parameter(torch.ones(shape)) if elementwise_affine else None

    def forward(self, x):
        axes = tuple(range(-len(self.normalized_shape), 0))
        eps = self.eps
        if eps is None:
            eps = torch.finfo(x.dtype).eps
        mean_square = (x**2).mean(dim=axes, keepdim=True)
        x_hat = x / torch.sqrt(mean_square + eps)
        if self.weight is None:
            return x_hat
        y = self.weight * x_hat
        return y.to(x.dtype)
"""

PLAIN_BACKWARD = """\
import torch


def layer_norm_backward(grad_out, x, weight, eps=1e-5):
    leading = tuple(range(x.dim() - 1))
    mean = x.mean(dim=-1, keepdim=True)
    var = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
    inv_std = 1 / torch.sqrt(var + eps)
    x_hat = (x - mean) * inv_std
    grad_weight = (grad_out * x_hat).sum(dim=leading)
    grad_bias = grad_out.sum(dim=leading)
    g = grad_out * weight
    mean_term = g.mean(dim=-1, keepdim=True)
    x_hat_term = x_hat * (g * x_hat).mean(dim=-1, keepdim=True)
    grad_x = inv_std * (g - mean_term - x_hat_term)
    return grad_x, grad_weight, grad_bias
"""

PLAIN = {"LayerNorm": PLAIN_LAYER, "layer_norm_backward": PLAIN_BACKWARD, "RMSNorm": PLAIN_RMS}
PREFIX = {"LayerNorm": "ln", "layer_norm_backward": "lnb", "RMSNorm": "rms"}

# The lines that are changed most, quoted from the texts above; `edit` fails if they no longer stand there.
INT = "        if isinstance(normalized_shape, int):\n            normalized_shape = (normalized_shape,)\n"
TUPLE = "self.normalized_shape = tuple(normalized_shape)"
WEIGHT = "self.weight = nn.Parameter(torch.ones(shape)) if elementwise_affine else None"
BIAS = "self.bias = nn.Parameter(torch.zeros(shape)) if elementwise_affine else None"
GUARD = """\
        if tuple(x.shape[-k:]) != self.normalized_shape:
            raise ValueError(f"the last axes must be {self.normalized_shape}, got {tuple(x.shape)}")
"""
AXES = "axes = tuple(range(-k, 0))"
MEAN = "mean = x.mean(dim=axes, keepdim=True)"
VAR = "var = ((x - mean) ** 2).mean(dim=axes, keepdim=True)"
X_HAT = "x_hat = (x - mean) / torch.sqrt(var + self.eps)"
AFFINE = "return self.weight * x_hat + self.bias"
RMS_AXES = "axes = tuple(range(-len(self.normalized_shape), 0))"
SQUARE = "mean_square = (x**2).mean(dim=axes, keepdim=True)"
RMS_HAT = "x_hat = x / torch.sqrt(mean_square + eps)"
FINFO = "eps = torch.finfo(x.dtype).eps"
RMS_AFFINE = "y = self.weight * x_hat\n        return y.to(x.dtype)"
FORWARD = "    def forward(self, x):\n"


def _mistake(
    exercise: str, ident: str, topic: str, title: str, symptom: str, hint: str, page: str,
    edits: tuple[Edit, ...], seen_in: tuple[str, ...], source: str | None,
) -> Mistake:  # fmt: skip
    return Mistake(
        id=ident,
        exercise=exercise,
        check=f"{PREFIX[exercise]}-{topic}",
        title=title,
        symptom=symptom,
        hint=hint,
        page=page if "#" in page else BOOK + page,
        source=edit(PLAIN[exercise] if source is None else source, *edits),
        seen_in=seen_in,
    )


def in_layer(
    ident: str, topic: str, title: str, symptom: str, hint: str, page: str,
    *edits: Edit, seen_in: tuple[str, ...] = (), source: str | None = None,
) -> Mistake:  # fmt: skip
    """One mistake in LayerNorm, by edits of the plain source or of another one; `page` is an anchor or a whole address."""
    return _mistake("LayerNorm", f"ln-{ident}", topic, title, symptom, hint, page, edits, seen_in, source)


def in_rms(
    ident: str, topic: str, title: str, symptom: str, hint: str, page: str,
    *edits: Edit, seen_in: tuple[str, ...] = (), source: str | None = None,
) -> Mistake:  # fmt: skip
    """One mistake in RMSNorm, in the same way."""
    return _mistake("RMSNorm", f"rms-{ident}", topic, title, symptom, hint, page, edits, seen_in, source)


def in_backward(
    ident: str, topic: str, title: str, symptom: str, hint: str, page: str,
    *edits: Edit, seen_in: tuple[str, ...] = (), source: str | None = None,
) -> Mistake:  # fmt: skip
    """One mistake in layer_norm_backward, in the same way."""
    return _mistake("layer_norm_backward", f"lnb-{ident}", topic, title, symptom, hint, page, edits, seen_in, source)


def in_style(ident: str, title: str, *edits: Edit, backward: str = PLAIN_BACKWARD, rms: str = PLAIN_RMS) -> Variant:
    """A variant whose LayerNorm is the plain one with some lines written in another way."""
    layer = edit(PLAIN_LAYER, *edits)
    return Variant(ident, title, {"LayerNorm": layer, "layer_norm_backward": backward, "RMSNorm": rms})
