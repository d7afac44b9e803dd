"""Mistakes in InstanceNorm2d: what it refuses, gradients that do not flow, and what ordinary data hide."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab03_group_norm.plain import (
    IMAGE_AFFINE,
    IMAGE_MEAN,
    IMAGE_VAR,
    IMAGE_X_HAT,
    in_instance,
)

RANK = '        if x.dim() != 4:\n            raise ValueError(f"expected (N, C, H, W), got {tuple(x.shape)}")\n'
RIGHT_C = """\
        if x.shape[1] != self.num_features:
            raise ValueError(f"expected {self.num_features} channels, got {x.shape[1]}")
"""
ONE_PIXEL = """\
        if x.shape[2] * x.shape[3] == 1:
            raise ValueError(f"one pixel has no variance, got {tuple(x.shape)}")
"""

REST: tuple[Mistake, ...] = (
    in_instance(
        "one-pixel-accepted", "errors", "An image of one pixel is accepted",
        "It gives zeros without a word, whatever the image was.",
        "What is the variance of one number, and what is then left of the image?",
        "few-values",
        (ONE_PIXEL, ""),
    ),
    in_instance(
        "one-pixel-accepted-in-evaluation", "errors", "An image of one pixel is refused in training mode only",
        "In evaluation it gives zeros without a word.",
        "This layer uses the image's own statistics in both modes. What follows for its errors?",
        "few-values",
        ("if x.shape[2] * x.shape[3] == 1:", "if self.training and x.shape[2] * x.shape[3] == 1:"),
    ),
    in_instance(
        "one-image-refused", "errors", "A single image is refused when it is one row or one column",
        "A ValueError for (1, C, 2, 1), which has two values per channel.",
        "Count the values behind one mean. Which of N, H and W belong to that count?",
        "few-values",
        ("if x.shape[2] * x.shape[3] == 1:", "if x.shape[2] * x.shape[3] == 1 or (x.shape[0] == 1 and 1 in x.shape[2:]):"),
    ),
    in_instance(
        "rows-of-a-table-accepted", "errors", "An input (N, C) is taken for images of one pixel, or for one image",
        "It comes out normalized over something, or as zeros.",
        "The layer is for images. What should it say to a table?",
        "few-values",
        (RANK, "        if x.dim() == 2:\n            x = x[:, :, None, None].expand(-1, -1, 1, 2)\n"),
    ),
    in_instance(
        "any-rank-accepted", "errors", "An input with more axes than an image is accepted",
        "Volumes come out, normalized over two of their three axes.",
        "How many axes does (N, C, H, W) have? Who tells a caller that has more?",
        "as-a-module",
        (RANK, ""),
    ),
    in_instance(
        "channels-not-checked", "errors", "Another number of channels is accepted as long as there are no parameters",
        "InstanceNorm2d(64) normalizes images with 80 channels, and nobody notices the mix-up.",
        "num_features is a promise about the input. Where do you use it, if there is no weight?",
        "as-a-module",
        (RIGHT_C, "        if self.weight is not None and x.shape[1] != self.num_features:\n"
                  '            raise ValueError("wrong channels")\n'),
        seen_in=("torch, which only warns",),
    ),
    in_instance(
        "channels-broadcast", "errors", "With parameters, another number of channels is accepted where it broadcasts",
        "A layer for 3 channels makes 3 of an image with 1.",
        "A size of 1 fits every other size. Which two numbers must agree before anything is computed?",
        "affine",
        (RIGHT_C, "        if self.weight is None and x.shape[1] != self.num_features:\n"
                  '            raise ValueError("wrong channels")\n'),
    ),
    in_instance(
        "statistics-detached", "gradients", "Mean and variance are computed without a graph",
        "The output is right; the gradient of the input lacks what flows back through the mean and the variance.",
        "If one pixel changes, the mean of its channel changes as well. Does your gradient know?",
        "gn-backward",
        (IMAGE_X_HAT, "mean, var = mean.detach(), var.detach()\n        " + IMAGE_X_HAT),
    ),
    in_instance(
        "variance-detached", "gradients", "The variance is computed without a graph",
        "The output is right; the gradient of the input lacks the part along x_hat.",
        "Every pixel moves the variance a little. Where in your forward is that connection cut?",
        "gn-backward",
        (IMAGE_VAR, IMAGE_VAR + ".detach()"),
    ),
    in_instance(
        "weight-detached", "gradients", "The values of weight and bias are used without their graph (.data)",
        "The output is right, and weight and bias never receive a gradient.",
        "Look at weight.grad after a backward pass. What does .data leave behind?",
        "affine",
        (IMAGE_AFFINE, "return self.weight.data.view(1, -1, 1, 1) * x_hat + self.bias.data.view(1, -1, 1, 1)"),
    ),
    in_instance(
        "one-pass-variance", "numerics", "The variance is computed as mean of squares minus square of the mean",
        "In float32, bright images give a variance of 0, a wrong one, or a negative one and NaN.",
        "Two large, nearly equal numbers are subtracted. How many of a float32's seven digits are left?",
        "numerics",
        (IMAGE_VAR, "var = (x**2).mean(dim=(2, 3), keepdim=True) - mean**2"),
    ),
    in_instance(
        "view-of-strided", "numerics", "view is used on an input that may not be contiguous",
        "A RuntimeError that says: view size is not compatible with input tensor's size and stride.",
        "view never copies. Call the layer on x.transpose(2, 3), and read the message to its end.",
        "numerics",
        (IMAGE_MEAN, "rows = x.view(x.shape[0], x.shape[1], -1)\n        mean = rows.mean(dim=2)[..., None, None]"),
    ),
    in_instance(
        "always-float32", "numerics", "The output is converted to float32",
        "float64 goes in, float32 comes out; the next layer complains of mixed dtypes.",
        "The output has the dtype of the input. Print both.",
        "numerics",
        (IMAGE_X_HAT, IMAGE_X_HAT + "\n        x_hat = x_hat.float()"),
        (IMAGE_AFFINE, "return (self.weight.view(1, -1, 1, 1) * x_hat + self.bias.view(1, -1, 1, 1)).float()"),
    ),
    in_instance(
        "input-changed", "numerics", "The input is changed in place",
        "The caller's image is normalized after the call; a skip connection adds the wrong thing.",
        "x belongs to the caller. Compare it with a clone that you took before the call.",
        "numerics",
        (IMAGE_X_HAT, IMAGE_X_HAT + "\n        x.data.copy_(x_hat.data)"),
    ),
)  # fmt: skip
