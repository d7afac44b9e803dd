"""Answers that let torch do the work: its normalization layers and operators, or autograd in the hand-written backward.

Their numbers may all be right; what they lack is the exercise. They are the only mistakes here that behave as the
contract says.
"""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab01_batch_norm.plain import X_HAT, in_backward, in_layer, in_layers

HINT = "The task is to write what this call does. Start from the formula and put each symbol into a line."

INHERITS = """\
from torch import nn


class BatchNorm1d(nn.BatchNorm1d):
    def forward(self, x):
        if x.dim() not in (2, 3) or x.shape[1] != self.num_features:
            raise ValueError(f"cannot take {tuple(x.shape)}")
        return super().forward(x)
"""

LAYER_NORM = """\
        if self.training or not tracked:
            rows = x.movedim(1, 0).flatten(1)
            x_hat = nn.functional.layer_norm(rows, rows.shape[1:], eps=self.eps)
            x_hat = x_hat.unflatten(1, x.movedim(1, 0).shape[1:]).movedim(0, 1)
        else:
            x_hat = (x - mean.view(shape)) / torch.sqrt(var.view(shape) + self.eps)"""

AUTOGRAD_GRAD = """\
import torch


@torch.enable_grad()
def batch_norm_backward(grad_out, x, weight, eps=1e-5):
    x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
    bias = torch.zeros_like(weight, requires_grad=True)
    mean = x.mean(dim=0)
    var = ((x - mean) ** 2).mean(dim=0)
    y = weight * (x - mean) / torch.sqrt(var + eps) + bias
    return torch.autograd.grad((y * grad_out).sum(), (x, weight, bias))
"""

BACKWARD_METHOD = """\
import torch


def batch_norm_backward(grad_out, x, weight, eps=1e-5):
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_(True)
        var, mean = torch.var_mean(leaf, dim=0, correction=0)
        x_hat = (leaf - mean) / torch.sqrt(var + eps)
        (x_hat * weight * grad_out).sum().backward()
    return leaf.grad, (grad_out * x_hat.detach()).sum(dim=0), grad_out.sum(dim=0)
"""

OPERATOR = """\
import torch


def batch_norm_backward(grad_out, x, weight, eps=1e-5):
    _, mean, inv_std = torch.ops.aten.native_batch_norm(x, weight, None, None, None, True, 0.1, eps)
    return torch.ops.aten.native_batch_norm_backward(
        grad_out, x, weight, None, None, mean, inv_std, True, eps, [True, True, True]
    )
"""

BUILTIN: tuple[Mistake, ...] = (
    *(
        in_layer(
            dims, "inherits-from-torch", "training", "The class inherits from torch's own layer",
            "Everything works, and nothing was written.", HINT, "bn-forward", INHERITS,
        )
        for dims in (1, 2)
    ),
    *in_layers(
        "functional-batch-norm",
        "training",
        "torch's own batch_norm does the normalization",
        "The numbers are torch's, and so is the work.",
        HINT,
        "bn-forward",
        (
            "        return self.weight.view(shape) * x_hat + self.bias.view(shape)",
            "        if self.training:\n"
            "            return torch.nn.functional.batch_norm(\n"
            "                x, None, None, self.weight, self.bias, True, 0.0, self.eps\n            )\n"
            "        return self.weight.view(shape) * x_hat + self.bias.view(shape)",
        ),
    ),
    *in_layers(
        "layer-norm-of-the-transpose",
        "training",
        "torch's own layer_norm, applied to the transposed input, does the normalization",
        "The numbers are right: over the right axis the two are the same function.",
        "A nice observation, and worth a sentence in the written answer. " + HINT,
        "bn-forward",
        ("        " + X_HAT, LAYER_NORM),
    ),
    in_backward(
        "autograd-grad", "numerics", "Autograd computes the gradients",
        "The numbers are right; the derivation is missing.",
        "Autograd is the answer sheet here. Use it to test your formula, not inside it.",
        "bn-backward", source=AUTOGRAD_GRAD,
    ),
    in_backward(
        "backward-method", "numerics", "Autograd computes the gradients",
        "The numbers are right; the derivation is missing.",
        "Autograd is the answer sheet here. Use it to test your formula, not inside it.",
        "bn-backward", source=BACKWARD_METHOD,
    ),
    in_backward(
        "torch-operator", "input", "torch's own batch norm operators compute the gradients",
        "The numbers are right; the derivation is missing.", HINT, "bn-backward", source=OPERATOR,
    ),
)  # fmt: skip
