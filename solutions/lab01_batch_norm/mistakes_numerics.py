"""Mistakes that ordinary data hide (dtype, memory layout, large means), and gradients that do not flow."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab01_batch_norm.plain import AFFINE, UPDATE, VAR, X_HAT, in_layer, in_layers

SHAPE = "shape = [1, -1] + [1] * (x.dim() - 2)\n"

NUMERICS: tuple[Mistake, ...] = (
    *in_layers(
        "one-pass-variance",
        "numerics",
        "The variance is computed as mean of squares minus square of the mean",
        "In float32, data with a large mean give a variance of 0, a wrong one, or a negative one and NaN.",
        "Two large, nearly equal numbers are subtracted. How many of the seven digits of a float32 are left for the "
        "difference?",
        "numerics",
        (VAR, "var = (x**2).mean(dim=axes) - mean**2"),
        seen_in=("labml",),
    ),
    *in_layers(
        "always-float32",
        "numerics",
        "The input is converted to float32, and so is the output",
        "float64 goes in, float32 comes out; the next layer complains of mixed dtypes.",
        "The output has the dtype of the input. Print both.",
        "numerics",
        (SHAPE, SHAPE + "        x = x.float()\n"),
        (X_HAT, X_HAT.replace(" + self.eps)", " + self.eps)\n        x_hat = x_hat.float()")),
        (
            AFFINE,
            "return (self.weight.view(shape) * x_hat + self.bias.view(shape)).float()",
        ),
    ),
    *in_layers(
        "always-float64",
        "numerics",
        "The input is converted to float64 and the output is not converted back",
        "float32 goes in, float64 comes out; the next layer complains of mixed dtypes.",
        "More precision inside is fine. What does the caller expect to get back?",
        "numerics",
        (SHAPE, SHAPE + "        x = x.double()\n"),
    ),
    *in_layers(
        "root-before-eps",
        "gradients",
        "The root of the bare variance is on the way to the denominator: its derivative at 0 is infinite",
        "Values are right everywhere, but a constant channel gets NaN for a gradient.",
        "What is the derivative of the square root at 0? Then look at which number eps is added to before a root is "
        "taken.",
        "epsilon",
        (
            X_HAT,
            "std = torch.sqrt(var.view(shape))\n        x_hat = (x - mean.view(shape)) / torch.sqrt(std**2 + self.eps)",
        ),
    ),
    in_layer(
        1,
        "view-of-strided",
        "numerics",
        "view is used on an input that may not be contiguous",
        "A RuntimeError that says: view size is not compatible with input tensor's size and stride.",
        "view never copies. Call the layer on x.t().contiguous().t(), which has the same values, and read the message "
        "to its end.",
        "numerics",
        (("n = x.numel() // x.shape[1]", "n = x.view(-1).shape[0] // x.shape[1]"),),
        ("the first version of this course",),
    ),
    in_layer(
        2,
        "view-of-strided",
        "numerics",
        "view is used on an input that may not be contiguous",
        "A RuntimeError that says: view size is not compatible with input tensor's size and stride.",
        "view never copies. Call the layer on x.transpose(2, 3), and read the message to its end.",
        "numerics",
        (("n = x.numel() // x.shape[1]", "n = x.view(-1).shape[0] // x.shape[1]"),),
    ),
    *in_layers(
        "input-changed",
        "numerics",
        "The input is changed in place",
        "The caller's tensor is centred after the call; a skip connection adds the wrong thing.",
        "x belongs to the caller. Compare it with a clone that you took before the call.",
        "numerics",
        (
            X_HAT,
            X_HAT + "\n        x.data.copy_(x_hat.data)",
        ),
    ),
    *in_layers(
        "single-channel-squeezed",
        "training",
        "Axes of length 1 are squeezed out of the output",
        "A layer for one channel returns an output with fewer axes than its input.",
        "squeeze() removes every axis of length 1. Which of them did you mean, and which may happen to have length 1?",
        "numerics",
        (
            AFFINE,
            "return (self.weight.view(shape) * x_hat + self.bias.view(shape)).squeeze()",
        ),
    ),
    *in_layers(
        "statistics-detached",
        "gradients",
        "Mean and variance are computed without a graph",
        "The output is right; the gradient of the input lacks what flows back through the mean and the variance.",
        "If one value of the batch changes, the mean changes as well. Does your gradient know?",
        "bn-backward",
        (UPDATE, "self.update(mean, var, n)\n            mean, var = mean.detach(), var.detach()\n"),
        seen_in=("fast.ai",),
    ),
    *in_layers(
        "variance-detached",
        "gradients",
        "The variance is computed without a graph",
        "The output is right; the gradient of the input lacks the part along x_hat.",
        "Every input moves the variance a little. Where in your forward is that connection cut?",
        "bn-backward",
        (UPDATE, "self.update(mean, var, n)\n            var = var.detach()\n"),
    ),
    *in_layers(
        "mean-detached",
        "gradients",
        "The mean is computed without a graph",
        "The output is right; the gradients of a column no longer add up to 0.",
        "Adding a constant to a whole column changes nothing in the output. What does that say about the sum of its "
        "gradients?",
        "bn-backward",
        (UPDATE, "self.update(mean, var, n)\n            mean = mean.detach()\n"),
        (VAR, "var = ((x - x.mean(dim=axes, keepdim=True)) ** 2).mean(dim=axes)"),
    ),
    *in_layers(
        "input-detached",
        "gradients",
        "The input is detached: no gradient reaches it",
        "weight and bias are trained; every layer below the normalization stands still.",
        "Take an x that requires a gradient and look at x.grad after a backward pass.",
        "bn-backward",
        (X_HAT, X_HAT + "\n        x_hat = x_hat.detach()"),
    ),
    *in_layers(
        "weight-detached",
        "gradients",
        "The values of weight and bias are used without their graph (.data)",
        "The output is right, and weight and bias never receive a gradient.",
        "Look at weight.grad after a backward pass. What does .data leave behind?",
        "affine",
        (
            AFFINE,
            "return self.weight.data.view(shape) * x_hat + self.bias.data.view(shape)",
        ),
    ),
)
