"""Answers that let torch do the work: its normalization layers and operators, or autograd in the hand-written backward.

Their numbers may all be right; what they lack is the exercise. They are the only mistakes here that behave as the
contract says.
"""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab03_group_norm.plain import (
    IMAGE_MEAN,
    IMAGE_VAR,
    IMAGE_X_HAT,
    MEAN,
    VAR,
    X_HAT,
    in_backward,
    in_group,
    in_instance,
)

HINT = "The task is to write what this call does. Start from the formula and put each symbol into a line."
RIGHT = "The numbers are torch's, and so is the work."

INHERITS = """\
from torch import nn


class GroupNorm(nn.GroupNorm):
    def forward(self, x):
        if x.dim() < 2 or x.shape[1] != self.num_channels:
            raise ValueError(f"cannot take {tuple(x.shape)}")
        return super().forward(x)
"""

AUTOGRAD = """\
import torch


@torch.enable_grad()
def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
    bias = torch.zeros_like(weight, requires_grad=True)
    grouped = x.reshape(x.shape[0], num_groups, -1)
    var, mean = torch.var_mean(grouped, dim=2, correction=0, keepdim=True)
    column = (1, -1) + (1,) * (x.dim() - 2)
    y = ((grouped - mean) / torch.sqrt(var + eps)).reshape(x.shape) * weight.view(column) + bias.view(column)
    return torch.autograd.grad((y * grad_out).sum(), (x, weight, bias))
"""

OPERATOR = """\
import torch


def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):
    x, grad_out = x.contiguous(), grad_out.contiguous()
    n, c = x.shape[:2]
    size = x.numel() // (n * c)
    _, mean, inv_std = torch.ops.aten.native_group_norm(x, weight, None, n, c, size, num_groups, eps)
    return torch.ops.aten.native_group_norm_backward(
        grad_out, x, mean, inv_std, weight, n, c, size, num_groups, [True, True, True]
    )
"""

BUILTIN: tuple[Mistake, ...] = (
    in_group(
        "inherits-from-torch", "output", "The class inherits from torch's own layer",
        "Everything works, and nothing was written.", HINT, "the-set", source=INHERITS,
    ),
    in_group(
        "functional", "output", "torch's own group_norm does the normalization", RIGHT, HINT, "the-set",
        (X_HAT, "x_hat = nn.functional.group_norm(x, groups, eps=self.eps)"),
    ),
    in_group(
        "layer-norm-of-groups", "output", "torch's own layer_norm, applied to the groups, does the normalization",
        "The numbers are right: over the right axis the two are the same function.",
        "A nice observation, and worth a sentence in the written answer. " + HINT, "the-set",
        (MEAN + "\n        " + VAR + "\n        " + X_HAT,
         "x_hat = nn.functional.layer_norm(grouped, grouped.shape[2:], eps=self.eps)"),
    ),
    in_instance(
        "functional", "output", "torch's own instance_norm does the normalization", RIGHT, HINT, "the-set",
        (IMAGE_X_HAT, "x_hat = nn.functional.instance_norm(x, eps=self.eps)"),
    ),
    in_instance(
        "batch-norm-of-the-pile", "output", "torch's own batch_norm, with all images as channels of one, does the work",
        "The numbers are right, and torch itself does it so.",
        "A nice observation, and worth a sentence in the written answer. " + HINT, "the-set",
        (IMAGE_MEAN + "\n        " + IMAGE_VAR + "\n        " + IMAGE_X_HAT,
         "pile = x.reshape(1, -1, *x.shape[2:])\n"
         "        x_hat = nn.functional.batch_norm(pile, None, None, training=True, eps=self.eps).reshape(x.shape)"),
    ),
    in_backward(
        "autograd", "numerics", "Autograd computes the gradients",
        "The numbers are right; the derivation is missing.",
        "Autograd is the answer sheet here. Use it to test your formula, not inside it.",
        "gn-backward", source=AUTOGRAD,
    ),
    in_backward(
        "torch-operator", "input", "torch's own group norm operators compute the gradients",
        "The numbers are right; the derivation is missing.", HINT, "gn-backward", source=OPERATOR,
    ),
)  # fmt: skip
