"""Mistakes in the rest of layer_norm_backward: the parameters' gradients, more than two axes, numerics, manners."""

from __future__ import annotations

from solutions.lab02_layer_norm.plain import in_backward

LEADING = "leading = tuple(range(x.dim() - 1))"
MEAN = "mean = x.mean(dim=-1, keepdim=True)\n"
VAR = "var = ((x - mean) ** 2).mean(dim=-1, keepdim=True)"
X_HAT = "x_hat = (x - mean) * inv_std\n"
GRAD_WEIGHT = "grad_weight = (grad_out * x_hat).sum(dim=leading)"
GRAD_BIAS = "grad_bias = grad_out.sum(dim=leading)"
G = "g = grad_out * weight"
MEAN_TERM = "mean_term = g.mean(dim=-1, keepdim=True)"
X_HAT_TERM = "x_hat_term = x_hat * (g * x_hat).mean(dim=-1, keepdim=True)"
RETURN = "return grad_x, grad_weight, grad_bias"
SHARED = "One weight serves every row. What does a loss that adds up over the rows do to its gradient?"

PARAMETERS = (
    in_backward(
        "averaged",
        "parameters",
        "The gradients of weight and bias are means over the rows, not sums",
        "They are too small by the number of rows.",
        SHARED,
        "ln-backward",
        (GRAD_WEIGHT, GRAD_WEIGHT.replace(".sum(", ".mean(")),
        (GRAD_BIAS, GRAD_BIAS.replace(".sum(", ".mean(")),
        seen_in=("A104",),
    ),
    in_backward(
        "x-in-place-of-x-hat",
        "parameters",
        "grad_weight uses x, not x_hat",
        "Right only for rows of mean 0 and variance 1.",
        "y = weight * x_hat + bias. What stands beside weight?",
        "ln-backward",
        (GRAD_WEIGHT, GRAD_WEIGHT.replace("x_hat", "x")),
    ),
    in_backward(
        "weight-in-its-own-gradient",
        "parameters",
        "grad_weight and grad_bias contain weight",
        "Right while all weights are 1.",
        "y = weight * x_hat + bias is linear in weight and in bias. What is left after differentiating?",
        "ln-backward",
        (GRAD_WEIGHT, GRAD_WEIGHT.replace("grad_out", "weight * grad_out")),
        (GRAD_BIAS, "grad_bias = (weight * grad_out).sum(dim=leading)"),
    ),
    in_backward(
        "parameters-swapped",
        "parameters",
        "grad_weight and grad_bias are swapped",
        "Each has the other's numbers.",
        "Which of the two needs x_hat? Compare the order in your return with the task's.",
        "ln-backward",
        (RETURN, "return grad_x, grad_bias, grad_weight"),
    ),
    in_backward(
        "parameters-per-row",
        "parameters",
        "The parameters' gradients are summed over the features, not over the rows",
        "They have one number for each row; weight has one for each feature.",
        "What shape has weight? Its gradient has the same.",
        "ln-backward",
        (GRAD_WEIGHT, "grad_weight = (grad_out * x_hat).sum(dim=-1)"),
        (GRAD_BIAS, "grad_bias = grad_out.sum(dim=-1)"),
    ),
    in_backward(
        "parameters-keep-axes",
        "parameters",
        "The parameters' gradients keep the summed axes",
        "They have shape (1, D), not (D,).",
        "What shape has weight? Its gradient has the same.",
        "ln-backward",
        (GRAD_WEIGHT, GRAD_WEIGHT.replace("dim=leading", "dim=leading, keepdim=True")),
        (GRAD_BIAS, GRAD_BIAS.replace("dim=leading", "dim=leading, keepdim=True")),
        seen_in=("A103",),
    ),
    in_backward(
        "parameters-not-summed",
        "parameters",
        "The parameters' gradients are not summed at all",
        "They have the shape of x.",
        SHARED,
        "ln-backward",
        (GRAD_WEIGHT, "grad_weight = grad_out * x_hat"),
        (GRAD_BIAS, "grad_bias = grad_out"),
    ),
)

RANKS = (
    in_backward(
        "two-axes-only",
        "ranks",
        "Only inputs of two axes can be unpacked",
        "Tokens (N, T, D) stop with 'too many values to unpack'.",
        "Which of your lines knows the number of axes? Count from the end: the last axis is -1 for any rank.",
        "ln-backward",
        (LEADING, "n, d = x.shape\n    leading = (0,)"),
    ),
    in_backward(
        "one-leading-axis-summed",
        "ranks",
        "The parameters' gradients are summed over the first axis only",
        "For (N, T, D) they have shape (T, D).",
        SHARED + " Tokens are rows, too.",
        "ln-backward",
        (LEADING, "leading = (0,)"),
    ),
    in_backward(
        "one-leading-axis-kept",
        "ranks",
        "The parameters' gradients are summed over all axes but the first and the last",
        "(N, D) is right; for (N, T, D) they have one row for each sample.",
        SHARED + " Samples are rows, too.",
        "ln-backward",
        (LEADING, "leading = tuple(range(1, x.dim() - 1)) or (0,)"),
    ),
    in_backward(
        "last-leading-axis",
        "ranks",
        "The statistics are taken over axis 1",
        "(N, D) is right; for (N, T, D) the tokens of a sample are mixed.",
        "Count from the end: the last axis is -1 for any rank.",
        "the-set",
        (MEAN, MEAN.replace("dim=-1", "dim=1")),
        (VAR, VAR.replace("dim=-1", "dim=1")),
        (MEAN_TERM, MEAN_TERM.replace("dim=-1", "dim=1")),
        (X_HAT_TERM, X_HAT_TERM.replace("dim=-1", "dim=1")),
    ),
    in_backward(
        "sample-in-place-of-row",
        "ranks",
        "All axes but the first share a mean",
        "(N, D) is right; for (N, T, D) it is the backward pass of LayerNorm((T, D)), with one weight per feature.",
        "layer_norm_backward is about the last axis. How many means has an input (2, 3, 4)?",
        "the-set",
        (LEADING, LEADING + "\n    inner = tuple(range(1, x.dim()))"),
        (MEAN, MEAN.replace("dim=-1", "dim=inner")),
        (VAR, VAR.replace("dim=-1", "dim=inner")),
        (MEAN_TERM, MEAN_TERM.replace("dim=-1", "dim=inner")),
        (X_HAT_TERM, X_HAT_TERM.replace("dim=-1", "dim=inner")),
    ),
    in_backward(
        "rows-left-flat",
        "ranks",
        "grad_x comes back with the leading axes joined",
        "For (2, 3, 4) grad_x has shape (6, 4).",
        "Rows may be handled as one long list. Which shape must grad_x have in the end?",
        "ln-backward",
        (LEADING, "x, grad_out = x.reshape(-1, x.shape[-1]), grad_out.reshape(-1, x.shape[-1])\n    leading = (0,)"),
    ),
)

NUMERICS = (
    in_backward(
        "default-eps", "numerics", "The default of eps is 1e-12",
        "Nothing for ordinary rows; those that hardly vary come out too large.",
        "Which default does the task give?",
        "epsilon", ("eps=1e-5", "eps=1e-12"),
    ),
    in_backward(
        "no-default-eps", "numerics", "eps has no default",
        "A call without eps raises a TypeError.",
        "Compare your signature with the task's.",
        "as-a-module", ("eps=1e-5", "eps"),
    ),
    in_backward(
        "other-names", "numerics", "An argument has another name: dout",
        "layer_norm_backward(grad_out=...) raises a TypeError.",
        "Callers use the names in the task. Compare your signature with it, word by word.",
        "as-a-module", ("(grad_out, x, weight, eps=1e-5):\n", "(dout, x, weight, eps=1e-5):\n    grad_out = dout\n"),
    ),
    in_backward(
        "gradient-overwritten", "numerics", "grad_out is multiplied by weight in place",
        "The three gradients are right; the caller's grad_out has changed.",
        "Compare the arguments before and after the call. Which line writes into one?",
        "as-a-module", (G, "g = grad_out.mul_(weight)"),
    ),
    in_backward(
        "input-centred-in-place", "numerics", "x is centred in place",
        "The three gradients are right; the caller's x has lost its mean.",
        "Compare the arguments before and after the call. Which line writes into one?",
        "as-a-module", (VAR, "x.sub_(mean)\n    var = (x**2).mean(dim=-1, keepdim=True)"), (X_HAT, "x_hat = x * inv_std\n"),
    ),
    in_backward(
        "view-of-strided", "numerics", "The leading axes are joined by view, which refuses some memory layouts",
        "A transposed input of three axes stops with 'view size is not compatible'.",
        "When can two axes be seen as one without moving a number? What does reshape do when they can't?",
        "numerics",
        (LEADING, "shape = x.shape\n    x, grad_out = x.view(-1, shape[-1]), grad_out.view(-1, shape[-1])\n    leading = (0,)"),
        (RETURN, "return grad_x.view(shape), grad_weight, grad_bias"),
    ),
    in_backward(
        "always-float64", "numerics", "Everything is computed and returned in float64",
        "Gradients of a float32 input come back as float64.",
        "Which dtype should a gradient have? Print it for inputs of both.",
        "numerics", (LEADING, "x, grad_out, weight = x.double(), grad_out.double(), weight.double()\n    " + LEADING),
        seen_in=("A083",),
    ),
    in_backward(
        "one-pass-variance", "large-mean", "The variance is the mean of the squares less the square of the mean",
        "Right in float64. In float32 nothing is left of it when the mean is large.",
        "Subtract two float32 numbers near 10 000 that differ by 1. How many digits does the difference have?",
        "numerics", (VAR, "var = (x**2).mean(dim=-1, keepdim=True) - mean**2"),
    ),
)  # fmt: skip
