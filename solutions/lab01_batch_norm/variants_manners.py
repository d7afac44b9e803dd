"""Honest layers written with other manners: rebinding, printing, matching, odd names, functions outside the class."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab01_batch_norm.plain import (
    IMPORT,
    PLAIN,
    PLAIN_1D,
    PLAIN_BACKWARD,
    RUNNING_MEAN,
    RUNNING_VAR,
    both,
    edit,
    in_style,
)

LAST = "        return self.weight.view(shape) * x_hat + self.bias.view(shape)\n"


MATCH = edit(
    PLAIN_1D,
    (
        """        if x.dim() not in (2, 3):
            raise ValueError(f"expected (N, C) or (N, C, L), got {tuple(x.shape)}")
        if x.shape[1] != self.num_features:
            raise ValueError(f"expected {self.num_features} channels, got {x.shape[1]}")
        axes = [axis for axis in range(x.dim()) if axis != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
""",
        """        match tuple(x.shape):
            case (_, c) if c == self.num_features:
                axes, shape = [0], [1, c]
            case (_, c, _) if c == self.num_features:
                axes, shape = [0, 2], [1, c, 1]
            case other:
                raise ValueError(f"{other} is not a batch for {self.num_features} features")
""",
    ),
)

MATCH_2D = edit(
    MATCH,
    ("class BatchNorm1d(", "class BatchNorm2d("),
    ("            case (_, c) if c == self.num_features:\n                axes, shape = [0], [1, c]\n", ""),
    ("case (_, c, _) if", "case (_, c, _, _) if"),
    ("axes, shape = [0, 2], [1, c, 1]", "axes, shape = [0, 2, 3], [1, c, 1, 1]"),
)

GREEK = """\
import torch as τ
from torch.nn import Module, Parameter as Lernbar


class BatchNorm1d(Module):
    def __init__(selbst, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        super().__init__()
        selbst.C, selbst.ε, selbst.α = num_features, eps, momentum
        selbst.weight, selbst.bias = [Lernbar(f(num_features)) if affine else None for f in (τ.ones, τ.zeros)]
        [
            selbst.register_buffer(name, f(num_features) if track_running_stats else None)
            for name, f in dict(running_mean=τ.zeros, running_var=τ.ones).items()
        ]
        selbst.register_buffer("num_batches_tracked", τ.tensor(0) if track_running_stats else None)

    def forward(selbst, χ):
        if not (χ.ndim in (2, 3) and χ.size(1) == selbst.C):
            raise ValueError(f"{[*χ.shape]} ?")
        breit = lambda v: v.reshape(1, -1, *[1 for _ in χ.shape[2:]])
        if not selbst.training and selbst.running_mean is not None:
            μ, σ2 = selbst.running_mean, selbst.running_var
        elif (m := χ.select(1, 0).numel()) == 1:
            raise ValueError("m = 1")
        else:
            μ = τ.stack([spalte.mean() for spalte in χ.unbind(1)])
            σ2 = τ.stack([(spalte - spalte.mean()).square().mean() for spalte in χ.unbind(1)])
            if selbst.running_mean is not None:
                selbst.num_batches_tracked += 1
                α = selbst.α if selbst.α is not None else 1 / int(selbst.num_batches_tracked)
                with τ.no_grad():
                    selbst.running_mean.copy_(α * μ + (1 - α) * selbst.running_mean)
                    selbst.running_var.copy_(α * σ2 * m / (m - 1) + (1 - α) * selbst.running_var)
        χ = (χ - breit(μ)) / breit(σ2 + selbst.ε) ** 0.5
        return χ if selbst.weight is None else breit(selbst.weight) * χ + breit(selbst.bias)
"""

GREEK_BACKWARD = """\
def batch_norm_backward(grad_out, x, weight, eps=1e-5):
    δ, γ, (m, _) = grad_out, weight, x.shape
    ξ = x - x.mean(0)
    σ = (ξ.square().mean(0) + eps).sqrt()
    ξ = ξ / σ
    dβ, dγ = [s.sum(0) for s in (δ, δ * ξ)]
    return γ / σ * (δ - (dβ + ξ * dγ) / m), dγ, dβ
"""

HELPERS = '''\
from typing import Optional

import torch
from torch import Tensor, nn


class ShapeProblem(ValueError):
    """The input cannot be normalized by this layer."""


def channel_first(x: Tensor) -> Tensor:
    """Return x as (C, n): one row of values for each channel."""
    return x.movedim(1, 0).flatten(1)


def restore(rows: Tensor, like: Tensor) -> Tensor:
    """Undo channel_first."""
    moved = like.movedim(1, 0)
    return rows.unflatten(1, moved.shape[1:]).movedim(0, 1)


def moments(rows: Tensor) -> tuple[Tensor, Tensor]:
    if rows.shape[1] < 2:
        raise ShapeProblem(f"only {rows.shape[1]} value per channel")
    mean = rows.mean(dim=1)
    return mean, (rows - mean.unsqueeze(1)).square().mean(dim=1)


def weight_of_new(momentum: Optional[float], count: Tensor) -> float:
    return momentum if momentum is not None else 1.0 / count.item()


class BatchNorm1d(nn.Module):
    running_mean: Optional[Tensor]
    running_var: Optional[Tensor]
    num_batches_tracked: Optional[Tensor]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: Optional[float] = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.weight = nn.Parameter(torch.ones(num_features)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_features)) if affine else None
        self.register_buffer("running_mean", torch.zeros(num_features) if track_running_stats else None)
        self.register_buffer("running_var", torch.ones(num_features) if track_running_stats else None)
        count = torch.tensor(0, dtype=torch.int64) if track_running_stats else None
        self.register_buffer("num_batches_tracked", count)

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() not in (2, 3) or x.shape[1] != self.num_features:
            raise ShapeProblem(f"{tuple(x.shape)} does not fit {self.num_features} features")
        rows = channel_first(x)
        mean, var = self.statistics(rows)
        rows = (rows - mean.unsqueeze(1)) / (var.unsqueeze(1) + self.eps).sqrt()
        if self.weight is not None and self.bias is not None:
            rows = rows * self.weight.unsqueeze(1) + self.bias.unsqueeze(1)
        return restore(rows, x)

    def statistics(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        if self.running_mean is None or self.running_var is None or self.num_batches_tracked is None:
            return moments(rows)
        if not self.training:
            return self.running_mean, self.running_var
        mean, var = moments(rows)
        self.num_batches_tracked += 1
        new, n = weight_of_new(self.momentum, self.num_batches_tracked), rows.shape[1]
        self.running_mean = torch.lerp(self.running_mean, mean.detach(), new)
        self.running_var = torch.lerp(self.running_var, var.detach() * n / (n - 1), new)
        return mean, var
'''

MANNERS: tuple[Variant, ...] = (
    in_style(
        "rebound-buffers",
        "The buffers are rebound to new tensors, not changed in place",
        ("self.num_batches_tracked += 1", "self.num_batches_tracked = self.num_batches_tracked + 1"),
        (RUNNING_MEAN, "self.running_mean = (1 - rate) * self.running_mean + rate * mean"),
        (RUNNING_VAR, "self.running_var = (1 - rate) * self.running_var + rate * var * n / (n - 1)"),
    ),
    in_style(
        "prints-and-warnings",
        "Prints and warns in every forward pass",
        (IMPORT, "import warnings\n\n" + IMPORT),
        ("        axes = [axis", '        print("forward", tuple(x.shape), self.training)\n        axes = [axis'),
        (LAST, '        warnings.warn("scaling and shifting", stacklevel=2)\n        print(x_hat.mean())\n' + LAST),
        backward=edit(PLAIN_BACKWARD, ("    g = grad", '    print("x_hat:", x_hat)\n    g = grad')),
    ),
    Variant(
        "structural-matching",
        "The shapes are taken apart by match",
        {**PLAIN, "BatchNorm1d": MATCH, "BatchNorm2d": MATCH_2D},
    ),
    Variant(
        "greek-letters",
        "Greek letters, German words, comprehensions",
        {**both(GREEK), "batch_norm_backward": GREEK_BACKWARD},
    ),
    Variant(
        "functions-outside",
        "Annotated functions outside the class, an error class of its own, channels first",
        {**PLAIN, **both(HELPERS)},
    ),
)
