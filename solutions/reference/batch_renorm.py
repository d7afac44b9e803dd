"""Batch renormalization, written to be read: one module and its backward pass by hand.

This file is the truth that the course compares with. It is not fast, it has no schedule
for r_max and d_max (they are plain attributes, for a training loop to move), and it
calls no normalization of torch. Batch norm gives in training another function than in
evaluation. Batch renormalization corrects the training output by two numbers per
channel, so that within the limits r_max and d_max the two functions are one:

    layer           input        axes of the statistics   values per channel m
    BatchRenorm1d   (N, C)       0                        N
    BatchRenorm1d   (N, C, L)    0, 2                     N * L

    mu_B = (1/m) sum x,   sigma_B = sqrt((1/m) sum (x - mu_B)^2 + eps)
    r = clip(sigma_B / sigma, 1 / r_max, r_max),   d = clip((mu_B - mu) / sigma, -d_max, d_max)
    training:    y = weight ((x - mu_B) / sigma_B r + d) + bias
    evaluation:  y = weight ((x - mu) / sigma) + bias

mu and sigma are running_mean and running_std as they were BEFORE this batch moves them.
r and d are constants for the gradient. With r = 1 and d = 0 (r_max = 1, d_max = 0) the
training output is that of batch norm; where neither is clipped, it is that of evaluation.

What the contract and the paper leave open is decided here:

* running_std keeps sigma_B itself: eps is inside, and no Bessel correction is made.
* Statistics are computed in float32 or better (float16 and bfloat16 are widened first),
  sigma_B from the differences, never as E[x^2] - E[x]^2, and the mean of the differences
  is taken away as well, because a rounded mean is not the mean. The output has the dtype
  of x; the buffers keep their own and are changed in place, without a graph.
* A wrong rank, a wrong C, a dtype that is not floating and, in training, fewer than two
  values per channel raise ValueError; so do r_max < 1 and d_max < 0 in the constructor.

Source: S. Ioffe, "Batch Renormalization: Towards Reducing Minibatch Dependence in
Batch-Normalized Models", NIPS 2017, algorithm 1.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["BatchRenorm1d", "batch_renorm_backward", "renorm_correction"]


class BatchRenorm1d(nn.Module):
    """Batch norm whose training output is moved towards what evaluation would give.

    Formula: y = weight ((x - mu_B) / sigma_B r + d) + bias in training and
    y = weight (x - running_mean) / running_std + bias in evaluation. Input (N, C) or
    (N, C, L), output of the same shape and dtype. Parameters weight (ones), bias (zeros):
    (C,). Buffers running_mean (zeros), running_std (ones): (C,); momentum is the weight
    of the NEW value. Raises ValueError as the module says.
    """

    weight: nn.Parameter
    bias: nn.Parameter
    running_mean: Tensor
    running_std: Tensor

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.01,
        r_max: float = 3.0,
        d_max: float = 5.0,
    ) -> None:
        super().__init__()
        if r_max < 1 or d_max < 0:
            raise ValueError(f"BatchRenorm1d needs r_max >= 1 and d_max >= 0; got r_max={r_max}, d_max={d_max}.")
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.r_max = r_max
        self.d_max = d_max
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_std", torch.ones(num_features))

    def forward(self, x: Tensor) -> Tensor:
        """Normalize x; see the class for the formula, the shapes and the errors."""
        self._check(x)
        wide = _at_least_float32(x)  # (N, C) or (N, C, L)
        column = (1, -1, 1)[: x.dim()]  # (C,) -> (1, C) or (1, C, 1)
        mu = self.running_mean.to(wide.dtype)  # (C,)
        # A copy: the graph of an evaluation keeps it, and a later training call moves the buffer.
        sigma = self.running_std.to(wide.dtype, copy=True)  # (C,)

        if self.training:
            centred, mu_batch, sigma_batch = _batch_statistics(wide, self.eps)  # as x, (C,), (C,)
            r, d = renorm_correction(mu_batch, sigma_batch, mu, sigma, self.r_max, self.d_max)  # (C,), (C,)
            x_hat = centred / sigma_batch.view(column) * r.view(column) + d.view(column)
            self._update(mu_batch, sigma_batch)  # last: r and d are from the values before it
        else:
            x_hat = (wide - mu.view(column)) / sigma.view(column)

        y = x_hat * self.weight.to(wide.dtype).view(column) + self.bias.to(wide.dtype).view(column)
        return y.to(x.dtype)

    @torch.no_grad()
    def _update(self, mu_batch: Tensor, sigma_batch: Tensor) -> None:
        """mu += a (mu_B - mu) and sigma += a (sigma_B - sigma), a the momentum; in place."""
        self.running_mean.lerp_(mu_batch.to(self.running_mean.dtype), self.momentum)
        self.running_std.lerp_(sigma_batch.to(self.running_std.dtype), self.momentum)

    def _check(self, x: Tensor) -> None:
        shape = tuple(x.shape)
        if x.dim() not in (2, 3):
            raise ValueError(f"BatchRenorm1d takes (N, C) or (N, C, L); got shape {shape}.")
        if x.shape[1] != self.num_features:
            raise ValueError(f"BatchRenorm1d needs {self.num_features} channels on axis 1; got shape {shape}.")
        if not x.is_floating_point():
            raise ValueError(f"BatchRenorm1d needs a floating dtype; got {x.dtype}. Convert x first.")
        if self.training and x.numel() // max(self.num_features, 1) < 2:
            raise ValueError(
                "BatchRenorm1d needs at least two values per channel to estimate a standard deviation; "
                f"got shape {shape}. Use a larger batch, or eval()."
            )

    def extra_repr(self) -> str:
        """The arguments, as torch prints its own."""
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, r_max={self.r_max}, d_max={self.d_max}"


@torch.no_grad()
def renorm_correction(
    mu_batch: Tensor, sigma_batch: Tensor, mu: Tensor, sigma: Tensor, r_max: float, d_max: float
) -> tuple[Tensor, Tensor]:
    """r and d of algorithm 1, (C,) each and without a graph: how the batch differs from what is remembered.

    r = clip(sigma_B / sigma, 1 / r_max, r_max);   d = clip((mu_B - mu) / sigma, -d_max, d_max).
    """
    return (sigma_batch / sigma).clamp(1 / r_max, r_max), ((mu_batch - mu) / sigma).clamp(-d_max, d_max)


@torch.no_grad()
def batch_renorm_backward(
    grad_out: Tensor, x: Tensor, weight: Tensor, r: Tensor, d: Tensor, eps: float = 1e-5
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of batch renormalization in training mode, for the r and d of that call, without autograd.

    With g = grad_out and z = (x - mu_B) / sigma_B, all means over axis 0, r and d constants:

        grad_x      = (weight r / sigma_B) (g - mean(g) - z mean(g z))
        grad_weight = sum g (z r + d)
        grad_bias   = sum g

    grad_out, x: (N, C); weight, r, d: (C,). Returns grad_x (N, C), grad_weight (C,), grad_bias
    (C,), each in the dtype of what it is the gradient of. Raises ValueError for other
    shapes and for N < 2. Source: Ioffe 2017, section 3, simplified.
    """
    per_channel = {tuple(value.shape) for value in (weight, r, d)}
    if x.dim() != 2 or grad_out.shape != x.shape or per_channel != {tuple(x.shape[1:])} or len(x) < 2:
        raise ValueError(
            "batch_renorm_backward needs x and grad_out (N, C) with N >= 2 and weight, r, d (C,); got "
            f"{tuple(x.shape)}, {tuple(grad_out.shape)} and {sorted(per_channel)}."
        )
    g = _at_least_float32(grad_out)  # (N, C)
    centred, _, sigma_batch = _batch_statistics(_at_least_float32(x), eps)  # (N, C), -, (C,)
    z = centred / sigma_batch  # (N, C)
    grad_x = (weight * r / sigma_batch) * (g - g.mean(0) - z * (g * z).mean(0))  # (N, C)
    grad_weight = (g * (z * r + d)).sum(0)  # (C,)
    return grad_x.to(x.dtype), grad_weight.to(weight.dtype), g.sum(0).to(weight.dtype)


def _batch_statistics(x: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """x - mu_B, of x's shape, and mu_B and sigma_B, (C,) each."""
    over = [axis for axis in range(x.dim()) if axis != 1]
    mean = x.mean(over, keepdim=True)  # (1, C) or (1, C, 1), rounded
    rest = (x - mean).mean(over, keepdim=True)  # what the rounding left over
    centred = x - mean - rest
    return centred, (mean + rest).flatten(), (centred.square().mean(over) + eps).sqrt()


def _at_least_float32(x: Tensor) -> Tensor:
    """x itself when it is float32 or float64; float16 and bfloat16 in float32."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
