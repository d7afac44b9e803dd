"""Mistakes in group_norm_backward: in the gradients of weight and bias, and in what ordinary data hide."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab03_group_norm.plain import (
    BACK_GROUPED,
    GRAD_BIAS,
    GRAD_WEIGHT,
    RETURN,
    VAR,
    X_HAT_TERM,
    G,
    in_backward,
)

SIGNATURE = "def group_norm_backward(grad_out, x, num_groups, weight, eps=1e-5):"

PARAMETERS: tuple[Mistake, ...] = (
    in_backward(
        "parameters-averaged", "parameters", "grad_weight and grad_bias are means, not sums",
        "Too small by the number of samples times positions.",
        "Every place where a parameter is used adds its share to the gradient. Who divides?",
        "affine",
        (GRAD_WEIGHT, GRAD_WEIGHT.replace("sum", "mean")),
        (GRAD_BIAS, GRAD_BIAS.replace("sum", "mean")),
    ),
    in_backward(
        "parameters-per-sample", "parameters", "grad_weight and grad_bias are not summed over the batch",
        "They have the shape (N, C).",
        "One weight serves all samples. How many gradients should it get?",
        "affine",
        (GRAD_WEIGHT, GRAD_WEIGHT.replace("dim=axes", "dim=axes[1:]") + " if x.dim() > 2 else grad_out * x_hat.reshape(x.shape)"),
        (GRAD_BIAS, GRAD_BIAS.replace("dim=axes", "dim=axes[1:]") + " if x.dim() > 2 else grad_out"),
    ),
    in_backward(
        "parameters-over-the-batch-only", "parameters", "grad_weight and grad_bias are summed over the batch, not over space",
        "They keep the axes of space; right for (N, C).",
        "weight has the shape (C,). Which axes must be gone from its gradient?",
        "affine",
        (GRAD_WEIGHT, GRAD_WEIGHT.replace("axes", "0")),
        (GRAD_BIAS, GRAD_BIAS.replace("axes", "0")),
    ),
    in_backward(
        "parameters-keep-axes", "parameters", "grad_weight and grad_bias keep the axes that were summed over",
        "They have the shape (1, C, 1): right numbers, another shape.",
        "A gradient has the shape of its parameter. What does keepdim keep?",
        "affine",
        (GRAD_WEIGHT, GRAD_WEIGHT.replace("dim=axes", "dim=axes, keepdim=True")),
        (GRAD_BIAS, GRAD_BIAS.replace("dim=axes", "dim=axes, keepdim=True")),
    ),
    in_backward(
        "parameters-per-group", "parameters", "grad_weight and grad_bias are summed over each group: one number per group",
        "They have the shape (G,), or one number repeated for the channels of a group.",
        "Statistics belong to groups. To what do weight and bias belong?",
        "affine",
        (RETURN, "width = x.shape[1] // num_groups\n"
                 "    pair = (grad_weight, grad_bias)\n"
                 "    grad_weight, grad_bias = (t.view(-1, width).sum(dim=1).repeat_interleave(width) for t in pair)\n"
                 "    " + RETURN),
    ),
    in_backward(
        "weight-gradient-from-x", "parameters", "grad_weight is computed from x in place of x_hat",
        "Grows with the offset of the data, which should not matter at all.",
        "Which tensor is multiplied by weight in the forward pass?",
        "affine",
        (GRAD_WEIGHT, "grad_weight = (grad_out * x).sum(dim=axes)"),
    ),
    in_backward(
        "weight-gradient-from-centred", "parameters", "grad_weight is computed from x - mean: the division by std is missing",
        "Right for data of unit variance.",
        "Which tensor is multiplied by weight in the forward pass?",
        "affine",
        (GRAD_WEIGHT, "grad_weight = (grad_out * (grouped - mean).reshape(x.shape)).sum(dim=axes)"),
    ),
    in_backward(
        "weight-in-its-own-gradient", "parameters", "grad_weight is multiplied by weight",
        "Right for a fresh layer.",
        "y = weight * x_hat + bias. Differentiate with respect to weight: what is left?",
        "affine",
        (RETURN, "return grad_x.reshape(x.shape), grad_weight * weight, grad_bias"),
    ),
    in_backward(
        "bias-gradient-weighted", "parameters", "grad_bias is multiplied by weight",
        "Right for a fresh layer.",
        "The bias is added after the multiplication by weight. Does its gradient ever meet weight?",
        "affine",
        (RETURN, "return grad_x.reshape(x.shape), grad_weight, grad_bias * weight"),
    ),
    in_backward(
        "weight-and-bias-swapped", "parameters", "grad_weight and grad_bias have changed places",
        "The sum of grad_out stands where that of grad_out * x_hat belongs.",
        "Compare your return line with the order in the contract.",
        "affine",
        (RETURN, "return grad_x.reshape(x.shape), grad_bias, grad_weight"),
    ),
)  # fmt: skip

NUMERICS: tuple[Mistake, ...] = (
    in_backward(
        "weight-before-groups", "numerics", "The signature has weight before num_groups",
        "Calls by position fail; calls by keyword work.",
        "Arguments may be given by position. Compare the order of yours with the contract's.",
        "as-a-module",
        (SIGNATURE, "def group_norm_backward(grad_out, x, weight, num_groups, eps=1e-5):"),
    ),
    in_backward(
        "eps-has-no-default", "numerics", "eps has no default",
        "A call without eps raises a TypeError.",
        "Compare your signature with the contract's, to its end.",
        "as-a-module",
        (SIGNATURE, SIGNATURE.replace("=1e-5", "")),
    ),
    in_backward(
        "other-names", "numerics", "The arguments have other names",
        "Calls by keyword raise a TypeError; calls by position work.",
        "Callers use the names in the contract. Compare your signature with it, word by word.",
        "as-a-module",
        (SIGNATURE, "def group_norm_backward(dy, x, groups, gamma, eps=1e-5):\n"
                    "    grad_out, num_groups, weight = dy, groups, gamma"),
    ),
    in_backward(
        "one-pass-variance", "numerics", "The variance is computed as mean of squares minus square of the mean",
        "In float32, data with a large mean give a wrong variance, and gradients that are off or NaN.",
        "Two large, nearly equal numbers are subtracted. How many of a float32's seven digits are left?",
        "numerics",
        (VAR, "var = (grouped**2).mean(dim=2, keepdim=True) - mean**2"),
    ),
    in_backward(
        "no-eps-for-constants", "numerics", "The variance is divided out of grad_x with no eps",
        "A constant group gives NaN; other groups are right.",
        "Which divisor of yours can be 0?",
        "epsilon",
        (X_HAT_TERM, "along = (g * x_hat).mean(dim=2, keepdim=True)\n"
                     "    x_hat_term = (grouped - mean) * along * inv_std * var / var"),
    ),
    in_backward(
        "always-float32", "numerics", "The gradients are float32, whatever comes in",
        "float64 goes in, float32 comes out.",
        "A gradient has the dtype of what it belongs to. Print both.",
        "numerics",
        (RETURN, "return grad_x.reshape(x.shape).float(), grad_weight.float(), grad_bias.float()"),
    ),
    in_backward(
        "view-of-strided", "numerics", "view is used on tensors that may not be contiguous",
        "A RuntimeError that says: view size is not compatible with input tensor's size and stride.",
        "view never copies. Call the function on transposed tensors with the same values, and read the message.",
        "numerics",
        (BACK_GROUPED, "grouped = x.view(x.shape[0], num_groups, -1)"),
    ),
    in_backward(
        "upstream-changed", "numerics", "grad_out is changed in place",
        "The caller's gradient is multiplied by weight after the call.",
        "Arguments belong to the caller. Compare them with clones that you took before the call.",
        "numerics",
        (G, "g = grad_out.mul_(weight.view(column))"),
    ),
    in_backward(
        "input-changed", "numerics", "x is changed in place",
        "The caller's x is centred after the call.",
        "Arguments belong to the caller. Compare them with clones that you took before the call.",
        "numerics",
        (RETURN, "x.copy_(x_hat.reshape(x.shape))\n    " + RETURN),
    ),
)  # fmt: skip
