"""Mistakes in GroupNorm that ordinary data hide: gradients that do not flow, dtypes, memory layouts, large means."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab03_group_norm.plain import AFFINE, GROUPED, PUT_BACK, VAR, X_HAT, edit, in_group
from solutions.lab03_group_norm.variants_function import FUNCTION

GRADIENTS: tuple[Mistake, ...] = (
    in_group(
        "statistics-detached", "gradients", "Mean and variance are computed without a graph",
        "The output is right; the gradient of the input lacks what flows back through the mean and the variance.",
        "If one value of a group changes, its mean changes as well. Does your gradient know?",
        "gn-backward",
        (X_HAT, "mean, var = mean.detach(), var.detach()\n        " + X_HAT),
    ),
    in_group(
        "variance-detached", "gradients", "The variance is computed without a graph",
        "The output is right; the gradient of the input lacks the part along x_hat.",
        "Every input moves the variance a little. Where in your forward is that connection cut?",
        "gn-backward",
        (VAR, VAR + ".detach()"),
    ),
    in_group(
        "mean-detached", "gradients", "The mean is computed without a graph",
        "The output is right; the gradients of a group no longer add up to 0.",
        "Adding a constant to a whole group changes nothing in the output. What does that say about its gradients' sum?",
        "gn-backward",
        (VAR, "var = ((grouped - mean) ** 2).mean(dim=2, keepdim=True)\n        mean = mean.detach()"),
    ),
    in_group(
        "input-detached", "gradients", "The input is detached: no gradient reaches it",
        "weight and bias are trained; every layer below the normalization stands still.",
        "Take an x that requires a gradient and look at x.grad after a backward pass.",
        "gn-backward",
        (GROUPED, GROUPED + ".detach()"),
    ),
    in_group(
        "weight-detached", "gradients", "The values of weight and bias are used without their graph (.data)",
        "The output is right, and weight and bias never receive a gradient.",
        "Look at weight.grad after a backward pass. What does .data leave behind?",
        "affine",
        (AFFINE, "return self.weight.data.view(shape) * x_hat + self.bias.data.view(shape)"),
    ),
    in_group(
        "root-before-eps", "gradients", "The root of the bare variance is on the way: its derivative at 0 is infinite",
        "Values are right everywhere, but a constant group gets NaN for a gradient.",
        "What is the derivative of the square root at 0? Which number is eps added to before a root is taken?",
        "epsilon",
        (X_HAT, "x_hat = (grouped - mean) / torch.sqrt(torch.sqrt(var) ** 2 + self.eps)"),
    ),
    in_group(
        "function-frozen-parameters", "gradients", "The autograd.Function fails when a parameter is frozen",
        "UnboundLocalError in backward: a gradient was never assigned, since nobody needed it.",
        "backward returns one value per input of forward. What is returned for an input that needs no gradient?",
        "frozen-backward",
        source=edit(FUNCTION, ("        grad_x = grad_weight = grad_bias = None\n", "")),
    ),
    in_group(
        "function-wrong-need", "gradients", "The autograd.Function asks about the wrong input whether a gradient is needed",
        "With x frozen, weight gets no gradient.",
        "ctx.needs_input_grad has one entry for each argument of forward, in order. Count which one weight is.",
        "frozen-backward",
        source=edit(FUNCTION, ("if ctx.needs_input_grad[1]:", "if ctx.needs_input_grad[0]:")),
    ),
    in_group(
        "function-weight-late", "gradients", "The autograd.Function multiplies by weight after the means are taken",
        "Right while weight is the same within each group, so for a fresh layer.",
        "Inside a group weight differs from channel to channel. May it be pulled out of a mean over the group?",
        "gn-backward",
        source=edit(
            FUNCTION,
            ("grad = grad_out if weight is None else grad_out * weight.view(shape)", "grad = grad_out"),
            ("grad_x = grad_x.reshape(grad_out.shape)",
             "grad_x = grad_x.reshape(grad_out.shape)\n"
             "            if weight is not None:\n                grad_x = grad_x * weight.view(shape)"),
        ),
    ),
)  # fmt: skip

NUMERICS: tuple[Mistake, ...] = (
    in_group(
        "one-pass-variance", "numerics", "The variance is computed as mean of squares minus square of the mean",
        "In float32, data with a large mean give a variance of 0, a wrong one, or a negative one and NaN.",
        "Two large, nearly equal numbers are subtracted. How many of a float32's seven digits are left?",
        "numerics",
        (VAR, "var = (grouped**2).mean(dim=2, keepdim=True) - mean**2"),
    ),
    in_group(
        "always-float32", "numerics", "The input is converted to float32, and so is the output",
        "float64 goes in, float32 comes out; the next layer complains of mixed dtypes.",
        "The output has the dtype of the input. Print both.",
        "numerics",
        (PUT_BACK, PUT_BACK + ".float()"),
        (AFFINE, "return (self.weight.view(shape) * x_hat + self.bias.view(shape)).float()"),
    ),
    in_group(
        "always-float64", "numerics", "The input is converted to float64 and the output is not converted back",
        "float32 goes in, float64 comes out; the next layer complains of mixed dtypes.",
        "More precision inside is fine. What does the caller expect to get back?",
        "numerics",
        (GROUPED, GROUPED + ".double()"),
    ),
    in_group(
        "view-of-strided", "numerics", "view is used on an input that may not be contiguous",
        "A RuntimeError that says: view size is not compatible with input tensor's size and stride.",
        "view never copies. Call the layer on a transposed tensor with the same values, and read the message to its end.",
        "numerics",
        (GROUPED, "grouped = x.view(x.shape[0], groups, -1)"),
    ),
    in_group(
        "input-changed", "numerics", "The input is changed in place",
        "The caller's tensor is centred after the call; a skip connection adds the wrong thing.",
        "x belongs to the caller. Compare it with a clone that you took before the call.",
        "numerics",
        (PUT_BACK, PUT_BACK + "\n        x.data.copy_(x_hat.data)"),
    ),
)  # fmt: skip
