"""The answers that the checks compare with: `solutions/reference/group_norm.py`, but for two things.

1. Where the contract leaves the kind of an error open, any kind is right. torch itself raises a RuntimeError for a wrong C, a
   ValueError or an IndexError elsewhere; the contract of this lab names the kind in two places only (C not divisible by G; one
   pixel). Elsewhere it asks for an error. A submission's exception matches when the expected one is among its bases, so these
   references raise a plain Exception there.
2. They round as ordinary code does. The reference takes the mean of the differences away a second time and is better in float32
   than an honest two-pass layer has to be; tolerances are derived from what stands here (`autograder/checks/tolerance.py`).

In float64 they agree with the reference to the last digits; a test compares them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from solutions.lab03_group_norm import steps
from solutions.reference import group_norm


def _normalized(x: Tensor, num_groups: int, eps: float) -> tuple[Tensor, Tensor]:
    """x_hat (N, G, m) and s (N, G, 1), in two passes."""
    grouped = steps.to_groups(x, num_groups)  # (N, G, m)
    mean, var = steps.group_statistics(grouped)  # (N, G), (N, G)
    return steps.normalize_groups(grouped, mean, var, eps), (var + eps).sqrt()[..., None]


class _InTwoPasses(group_norm.GroupNorm):
    def _normalize(self, x: Tensor, num_groups: int) -> Tensor:
        x_hat = _normalized(x, num_groups, self.eps)[0].reshape(x.shape)  # (N, C, *)
        return (
            x_hat if self.weight is None or self.bias is None else steps.scale_channels(x_hat, self.weight, self.bias)
        )


class GroupNorm(_InTwoPasses):
    """The reference; an error of any kind for fewer than two axes or another C."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalize x, or refuse it."""
        if x.dim() < 2 or x.shape[1] != self.num_channels:
            raise Exception(f"GroupNorm needs (N, {self.num_channels}, *); got {tuple(x.shape)}.")
        return super().forward(x)


class InstanceNorm2d(group_norm.InstanceNorm2d):
    """The reference; an error of any kind for a wrong rank or another C."""

    _normalize = _InTwoPasses._normalize

    def forward(self, x: Tensor) -> Tensor:
        """Normalize x, or refuse it."""
        if x.dim() != 4 or x.shape[1] != self.num_features:
            raise Exception(f"InstanceNorm2d needs (N, {self.num_features}, H, W); got {tuple(x.shape)}.")
        return super().forward(x)


@torch.no_grad()
def group_norm_backward(
    grad_out: Tensor, x: Tensor, num_groups: int, weight: Tensor, eps: float = 1e-5
) -> tuple[Tensor, Tensor, Tensor]:
    """The three gradients, as in the reference: grad_x (N, C, *), grad_weight (C,), grad_bias (C,)."""
    rest = tuple(axis for axis in range(x.dim()) if axis != 1)
    x_hat, s = _normalized(x, num_groups, eps)  # (N, G, m), (N, G, 1)
    g = steps.to_groups(grad_out * weight.view(-1, *[1] * (x.dim() - 2)), num_groups)  # (N, G, m)
    grad_x = (g - g.mean(2, keepdim=True) - x_hat * (g * x_hat).mean(2, keepdim=True)) / s  # (N, G, m)
    return grad_x.reshape(x.shape), (grad_out * x_hat.reshape(x.shape)).sum(rest), grad_out.sum(rest)


def statistics_shape(kind: str, n: int, l: int, c: int, num_groups: int | None = None) -> tuple[int, ...]:  # noqa: E741
    """The reference; an error of any kind for an unknown kind."""
    if kind not in ("batch", "layer", "token", "group"):
        raise Exception(f"there is no kind {kind!r}.")
    return group_norm.statistics_shape(kind, n, l, c, num_groups)
