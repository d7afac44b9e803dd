"""The plain sources of lab 3, and the small edits that turn them into wrong ones.

Not the reference: that is written to be read. These texts are written to be cut: every line does one
thing, so that a mistake is one line changed. Each text defines one name and carries its own imports.
"""

from __future__ import annotations

from autograder.checks.check import Mistake, Variant
from solutions.lab01_batch_norm.plain import Edit, edit

FORMULATION = "book/mathematical-formulation.html#"
FAMILY = "book/advanced-theory.html#group-family"

PLAIN_GROUP = """\
import torch
from torch import nn


class GroupNorm(nn.Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"{num_groups} groups do not divide {num_channels} channels")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(num_channels)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_channels)) if affine else None

    def forward(self, x):
        if x.dim() < 2:
            raise ValueError(f"expected (N, C, *), got {tuple(x.shape)}")
        if x.shape[1] != self.num_channels:
            raise ValueError(f"expected {self.num_channels} channels, got {x.shape[1]}")
        groups = self.num_groups
        grouped = x.reshape(x.shape[0], groups, -1)
        mean = grouped.mean(dim=2, keepdim=True)
        var = ((grouped - mean) ** 2).mean(dim=2, keepdim=True)
        x_hat = (grouped - mean) / torch.sqrt(var + self.eps)
        x_hat = x_hat.reshape(x.shape)
        if self.weight is None:
            return x_hat
        shape = [1, -1] + [1] * (x.dim() - 2)
        return self.weight.view(shape) * x_hat + self.bias.view(shape)
"""

PLAIN_INSTANCE = """\
import torch
from torch import nn


class InstanceNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(num_features)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_features)) if affine else None

    def forward(self, x):
        if x.dim() != 4:
            raise ValueError(f"expected (N, C, H, W), got {tuple(x.shape)}")
        if x.shape[1] != self.num_features:
            raise ValueError(f"expected {self.num_features} channels, got {x.shape[1]}")
        if x.shape[2] * x.shape[3] == 1:
            raise ValueError(f"one pixel has no variance, got {tuple(x.shape)}")
        mean = x.mean(dim=(2, 3), keepdim=True)
        var = ((x - mean) ** 2).mean(dim=(2, 3), keepdim=True)
        x_hat = (x - mean) / torch.sqrt(var + self.eps)
        if self.weight is None:
            return x_hat
        return self.weight.view(1, -1, 1, 1) * x_hat + self.bias.view(1, -1, 1, 1)
"""

PLAIN_BACKWARD = """\
import torch


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    column = [1, -1] + [1] * (x.dim() - 2)
    axes = [axis for axis in range(x.dim()) if axis != 1]
    grouped = x.reshape(x.shape[0], num_groups, -1)
    mean = grouped.mean(dim=2, keepdim=True)
    var = ((grouped - mean) ** 2).mean(dim=2, keepdim=True)
    inv_std = 1 / torch.sqrt(var + eps)
    x_hat = (grouped - mean) * inv_std
    grad_weight = (grad_out * x_hat.reshape(x.shape)).sum(dim=axes)
    grad_bias = grad_out.sum(dim=axes)
    g = grad_out * weight.view(column)
    g = g.reshape(grouped.shape)
    mean_term = g.mean(dim=2, keepdim=True)
    x_hat_term = x_hat * (g * x_hat).mean(dim=2, keepdim=True)
    grad_x = inv_std * (g - mean_term - x_hat_term)
    return grad_x.reshape(x.shape), grad_weight, grad_bias
"""

PLAIN_SHAPE = """\
def statistics_shape(kind, n, l, c, num_groups=None):
    if kind == "batch":
        return (c,)
    if kind == "layer":
        return (n,)
    if kind == "token":
        return (n, l)
    if kind == "group":
        return (n, num_groups)
    raise ValueError(f"unknown kind {kind!r}")
"""

PLAIN = {
    "GroupNorm": PLAIN_GROUP,
    "group_norm_backward": PLAIN_BACKWARD,
    "InstanceNorm2d": PLAIN_INSTANCE,
    "statistics_shape": PLAIN_SHAPE,
}

# The lines that are changed most, quoted from the texts above; `edit` fails if they no longer stand there.
GROUPED = "grouped = x.reshape(x.shape[0], groups, -1)"
MEAN = "mean = grouped.mean(dim=2, keepdim=True)"
VAR = "var = ((grouped - mean) ** 2).mean(dim=2, keepdim=True)"
X_HAT = "x_hat = (grouped - mean) / torch.sqrt(var + self.eps)"
PUT_BACK = "x_hat = x_hat.reshape(x.shape)"
AFFINE = "return self.weight.view(shape) * x_hat + self.bias.view(shape)"
WEIGHT = "self.weight = nn.Parameter(torch.ones(num_channels)) if affine else None"
BIAS = "self.bias = nn.Parameter(torch.zeros(num_channels)) if affine else None"
DIVIDES = """\
        if num_channels % num_groups != 0:
            raise ValueError(f"{num_groups} groups do not divide {num_channels} channels")
"""
RIGHT_C = """\
        if x.shape[1] != self.num_channels:
            raise ValueError(f"expected {self.num_channels} channels, got {x.shape[1]}")
"""

IMAGE_MEAN = "mean = x.mean(dim=(2, 3), keepdim=True)"
IMAGE_VAR = "var = ((x - mean) ** 2).mean(dim=(2, 3), keepdim=True)"
IMAGE_X_HAT = "x_hat = (x - mean) / torch.sqrt(var + self.eps)"
IMAGE_AFFINE = "return self.weight.view(1, -1, 1, 1) * x_hat + self.bias.view(1, -1, 1, 1)"
IMAGE_WEIGHT = "self.weight = nn.Parameter(torch.ones(num_features)) if affine else None"
IMAGE_BIAS = "self.bias = nn.Parameter(torch.zeros(num_features)) if affine else None"

BACK_GROUPED = "grouped = x.reshape(x.shape[0], num_groups, -1)"
INV_STD = "inv_std = 1 / torch.sqrt(var + eps)"
GRAD_WEIGHT = "grad_weight = (grad_out * x_hat.reshape(x.shape)).sum(dim=axes)"
GRAD_BIAS = "grad_bias = grad_out.sum(dim=axes)"
G = "g = grad_out * weight.view(column)"
MEAN_TERM = "mean_term = g.mean(dim=2, keepdim=True)"
X_HAT_TERM = "x_hat_term = x_hat * (g * x_hat).mean(dim=2, keepdim=True)"
GRAD_X = "grad_x = inv_std * (g - mean_term - x_hat_term)"
RETURN = "return grad_x.reshape(x.shape), grad_weight, grad_bias"


def _mistake(
    exercise: str, prefix: str, plain: str, ident: str, check: str, title: str, symptom: str, hint: str, page: str,
    edits: tuple[Edit, ...], source: str | None, seen_in: tuple[str, ...],
) -> Mistake:  # fmt: skip
    return Mistake(
        id=f"{prefix}-{ident}",
        exercise=exercise,
        check=check,
        title=title,
        symptom=symptom,
        hint=hint,
        page=page if "/" in page else FORMULATION + page,
        source=edit(plain, *edits) if source is None else source,
        seen_in=seen_in,
    )


def in_group(
    ident: str, topic: str, title: str, symptom: str, hint: str, page: str,
    *edits: Edit, source: str | None = None, seen_in: tuple[str, ...] = (),
) -> Mistake:  # fmt: skip
    """One mistake in GroupNorm, by edits of the plain source or as a whole source."""
    return _mistake(
        "GroupNorm", "group", PLAIN_GROUP, ident, f"gn-{topic}", title, symptom, hint, page, edits, source, seen_in
    )


def in_instance(
    ident: str, topic: str, title: str, symptom: str, hint: str, page: str,
    *edits: Edit, source: str | None = None, seen_in: tuple[str, ...] = (),
) -> Mistake:  # fmt: skip
    """One mistake in InstanceNorm2d."""
    return _mistake(
        "InstanceNorm2d", "instance", PLAIN_INSTANCE, ident, f"in2d-{topic}", title, symptom, hint, page, edits, source,
        seen_in,
    )  # fmt: skip


def in_backward(
    ident: str, topic: str, title: str, symptom: str, hint: str, page: str,
    *edits: Edit, source: str | None = None, seen_in: tuple[str, ...] = (),
) -> Mistake:  # fmt: skip
    """One mistake in group_norm_backward."""
    return _mistake(
        "group_norm_backward", "group-backward", PLAIN_BACKWARD, ident, f"gnb-{topic}", title, symptom, hint, page, edits,
        source, seen_in,
    )  # fmt: skip


def in_shape(
    ident: str, topic: str, title: str, symptom: str, hint: str, *edits: Edit, source: str | None = None
) -> Mistake:
    """One mistake in statistics_shape."""
    return _mistake(
        "statistics_shape",
        "shape",
        PLAIN_SHAPE,
        ident,
        f"shape-{topic}",
        title,
        symptom,
        hint,
        FAMILY,
        edits,
        source,
        (),
    )


def variant(ident: str, title: str, **sources: str) -> Variant:
    """A variant that is the plain solution but for the sources given."""
    return Variant(ident, title, {**PLAIN, **sources})
