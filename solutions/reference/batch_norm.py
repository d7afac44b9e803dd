"""Batch normalization, written to be read: two modules and a backward pass by hand.

This file is the truth that the course compares with. It is not fast, it is not a
drop-in for training large networks, and it calls no normalization of torch: every
line is a mean, a sum or a product. Each set of values that is normalized together
has one channel c and spans the batch and, where there is one, space:

    layer         input          axes of the statistics   values per channel m
    BatchNorm1d   (N, C)         0                        N
    BatchNorm1d   (N, C, L)      0, 2                     N * L
    BatchNorm2d   (N, C, H, W)   0, 2, 3                  N * H * W

    mu = (1/m) sum x,   v = (1/m) sum (x - mu)^2,   y = weight (x - mu) / sqrt(v + eps) + bias

What torch.nn leaves open is decided here:

* Statistics are computed in two passes (first the mean, then the mean square of the
  differences) and in float32 or better: float16 and bfloat16 are widened first, and
  the output has the dtype of x. The short form E[x^2] - E[x]^2 loses every digit when
  the mean is large beside the standard deviation.
* x may be wider than the parameters (float64 with float32 weights); torch refuses that.
* A wrong rank, a wrong C and fewer than two values per channel raise ValueError, the
  last one only where the statistics come from the batch. x must be a floating type.
* Buffers keep their own dtype and are changed in place, without a graph.

Source: S. Ioffe and C. Szegedy, "Batch Normalization", ICML 2015, algorithms 1 and 2;
names, defaults and the running variance as in torch.nn.BatchNorm1d and BatchNorm2d.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["BatchNorm1d", "BatchNorm2d", "batch_norm_backward"]


class _BatchNorm(nn.Module):
    """What the two layers share; `ranks` holds the numbers of axes that x may have."""

    ranks: tuple[int, ...]
    layout: str

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        # Registering None keeps the name and leaves it out of the state dict, as torch does.
        self.register_parameter("weight", nn.Parameter(torch.ones(num_features)) if affine else None)
        self.register_parameter("bias", nn.Parameter(torch.zeros(num_features)) if affine else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", torch.zeros(num_features) if tracked else None)
        self.register_buffer("running_var", torch.ones(num_features) if tracked else None)
        self.register_buffer("num_batches_tracked", torch.tensor(0, dtype=torch.int64) if tracked else None)

    def forward(self, x: Tensor) -> Tensor:
        """Normalize x; see the class for the formula, the shapes and the errors."""
        self._check(x)
        wide = _at_least_float32(x)  # (N, C, *)
        over = [axis for axis in range(x.dim()) if axis != 1]
        column = [-1 if axis == 1 else 1 for axis in range(x.dim())]  # (C,) -> (1, C, 1, 1)

        if self.training or self.running_mean is None:
            mean = wide.mean(over)  # (C,)
            centred = wide - mean.view(column)  # (N, C, *)
            var = centred.square().mean(over)  # (C,), biased: divided by m
            if self.training and self.running_mean is not None:
                self._update(mean, var, x.numel() // self.num_features)
        else:
            mean = self.running_mean.to(wide.dtype)  # (C,)
            var = self.running_var.to(wide.dtype)  # (C,)
            centred = wide - mean.view(column)  # (N, C, *)

        y = centred / (var + self.eps).sqrt().view(column)  # (N, C, *)
        if self.weight is not None:
            y = y * self.weight.to(wide.dtype).view(column)
            y = y + self.bias.to(wide.dtype).view(column)
        return y.to(x.dtype)

    @torch.no_grad()
    def _update(self, mean: Tensor, var: Tensor, m: int) -> None:
        """running = (1 - a) running + a new, where new is the mean and the UNBIASED variance.

        a is the momentum, or 1/k at the k-th call when the momentum is None, which makes
        `running` the plain average of all batches seen.
        """
        self.num_batches_tracked += 1
        new_weight = self.momentum
        if new_weight is None:
            new_weight = 1.0 / int(self.num_batches_tracked)
        unbiased = var * (m / (m - 1))  # (C,)
        # In place: whoever holds a reference to a buffer (an average of weights, say) sees it move.
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), new_weight)
        self.running_var.lerp_(unbiased.to(self.running_var.dtype), new_weight)

    def _check(self, x: Tensor) -> None:
        name, shape = type(self).__name__, tuple(x.shape)
        if x.dim() not in self.ranks:
            raise ValueError(f"{name} takes {self.layout}; got shape {shape}.")
        if x.shape[1] != self.num_features:
            raise ValueError(
                f"{name}({self.num_features}) needs {self.num_features} channels on axis 1; got shape {shape}."
            )
        if not x.is_floating_point():
            raise ValueError(f"{name} needs a floating dtype; got {x.dtype}. Convert x first.")
        from_batch = self.training or self.running_mean is None
        if from_batch and x.numel() // max(self.num_features, 1) < 2:
            raise ValueError(
                f"{name} needs at least two values per channel to estimate a variance; got shape "
                f"{shape}. Use a larger batch, or eval() with running statistics."
            )

    def extra_repr(self) -> str:
        """The arguments, as torch prints them."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(_BatchNorm):
    """Normalize each feature over the batch, or over batch and length.

    Formula: y = weight (x - mu) / sqrt(v + eps) + bias, with mu and the biased v taken
    over axis 0 of (N, C) and axes 0, 2 of (N, C, L) in training mode, and from the
    running statistics in evaluation mode (from the batch in both modes when they are
    not tracked). Parameters weight, bias: (C,). Buffers running_mean, running_var:
    (C,); num_batches_tracked: int64, no axes. Raises ValueError as the module says.
    """

    ranks = (2, 3)
    layout = "(N, C) or (N, C, L)"


class BatchNorm2d(_BatchNorm):
    """Normalize each channel of a stack of images: BatchNorm1d for (N, C, H, W).

    Formula, parameters, buffers and errors as in BatchNorm1d; mu and v are taken over
    axes 0, 2, 3, so that one channel has N * H * W values.
    """

    ranks = (4,)
    layout = "(N, C, H, W)"


@torch.no_grad()
def batch_norm_backward(
    grad_out: Tensor, x: Tensor, weight: Tensor, eps: float = 1e-5
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of batch normalization in training mode, without autograd.

    With g = grad_out, x_hat = (x - mu) / s and s = sqrt(v + eps), all means over axis 0:

        grad_x      = (weight / s) (g - mean(g) - x_hat mean(g x_hat))
        grad_weight = sum g x_hat
        grad_bias   = sum g

    grad_out, x: (N, C); weight: (C,). Returns grad_x (N, C), grad_weight (C,), grad_bias
    (C,), each in the dtype of what it is the gradient of. Raises ValueError for other
    shapes and for N < 2. Source: Ioffe and Szegedy 2015, section 3, simplified.
    """
    if x.dim() != 2 or grad_out.shape != x.shape or weight.shape != x.shape[1:] or len(x) < 2:
        raise ValueError(
            "batch_norm_backward needs x and grad_out (N, C) with N >= 2 and weight (C,); got "
            f"{tuple(x.shape)}, {tuple(grad_out.shape)} and {tuple(weight.shape)}."
        )
    wide, g = _at_least_float32(x), _at_least_float32(grad_out)  # (N, C)
    centred = wide - wide.mean(0)  # (N, C)
    s = (centred.square().mean(0) + eps).sqrt()  # (C,)
    x_hat = centred / s  # (N, C)
    grad_bias = g.sum(0)  # (C,)
    grad_weight = (g * x_hat).sum(0)  # (C,)
    # weight is one number per channel, and so may stand outside the means.
    grad_x = (weight / s) * (g - grad_bias / len(x) - x_hat * (grad_weight / len(x)))  # (N, C)
    return grad_x.to(x.dtype), grad_weight.to(weight.dtype), grad_bias.to(weight.dtype)


def _at_least_float32(x: Tensor) -> Tensor:
    """x itself when it is float32 or float64; float16 and bfloat16 in float32."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
