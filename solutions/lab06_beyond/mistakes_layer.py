"""Mistakes in what BatchRenorm1d takes: axes, errors, dtypes, memory; and torch doing the work."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab06_beyond.plain import AFFINE, SIGMA, VAR, X_HAT, in_renorm

AXES = "axes = [axis for axis in range(x.dim()) if axis != 1]\n"
SHAPE = "shape = [1, -1] + [1] * (x.dim() - 2)\n"
RANK = (
    "        if x.dim() not in (2, 3):\n"
    '            raise ValueError(f"expected (N, C) or (N, C, L), got {tuple(x.shape)}")\n'
)
CHANNELS = (
    "        if x.shape[1] != self.num_features:\n"
    '            raise ValueError(f"expected {self.num_features} channels, got {x.shape[1]}")\n'
)
FEW = '            if n < 2:\n                raise ValueError(f"{tuple(x.shape)} has one value per channel")\n'

LAYER: tuple[Mistake, ...] = (
    in_renorm(
        "notebook-global",
        "training",
        "forward reads a name of the notebook, eps, in place of its own attribute",
        "It works where the notebook happens to define eps, and raises NameError elsewhere.",
        "Restart the kernel and run only the cell of the class. Which names does it still need?",
        "as-a-module",
        (SIGMA, "sigma = torch.sqrt(var + eps)"),
    ),
    in_renorm(
        "statistics-of-each-position",
        "ncl",
        "For (N, C, L) the statistics are taken over N only, one per position, and averaged for what is remembered",
        "Every position is normalized by itself; with N = 1 the output is the same for any x.",
        "How many values does a channel of a (N, C, L) batch have?",
        "the-set",
        (
            X_HAT,
            "rows = x.mean(dim=0, keepdim=True)\n"
            "            spread = torch.sqrt(((x - rows) ** 2).mean(dim=0, keepdim=True) + self.eps)\n"
            "            x_hat = (x - rows) / spread\n",
        ),
    ),
    in_renorm(
        "channel-last",
        "ncl",
        "For (N, C, L) the statistics are those of the last axis",
        "An error where L and C differ, and silently wrong numbers where they are equal.",
        "In (N, C, L) the channel is axis 1. Which axes does your mean remove?",
        "the-set",
        (AXES, "axes = [axis for axis in range(x.dim()) if axis != x.dim() - 1]\n"),
        (SHAPE, "shape = [1] * (x.dim() - 1) + [-1]\n"),
    ),
    in_renorm(
        "two-axes-only",
        "ncl",
        "Only (N, C) is accepted",
        "A sequence raises an error.",
        "Read what the task says about the input once more.",
        "the-set",
        ("if x.dim() not in (2, 3):", "if x.dim() != 2:"),
    ),
    in_renorm(
        "wrong-rank-accepted",
        "errors",
        "Any number of axes is accepted",
        "An image or a vector is normalized over axes that nobody meant.",
        "The task names two shapes. What should happen with a third?",
        "as-a-module",
        (RANK, ""),
    ),
    in_renorm(
        "wrong-channels-accepted",
        "errors",
        "The number of channels is not compared with num_features",
        "One channel in place of three broadcasts silently; others fail with torch's own words.",
        "Call a layer for 3 channels on an x of shape (4, 1).",
        "as-a-module",
        (CHANNELS, ""),
    ),
    in_renorm(
        "one-value-accepted",
        "errors",
        "One value per channel is accepted in training",
        "The output is d for any x, and running_std sinks towards the root of eps.",
        "What does one number say about a spread?",
        "few-values",
        (FEW, ""),
    ),
    in_renorm(
        "one-sample-refused",
        "errors",
        "One sample is refused, also where it has several positions",
        "(1, C, L) raises an error, though it holds L values per channel.",
        "What counts is the number of values per channel. Is it N?",
        "few-values",
        ("n = x.numel() // x.shape[1]", "n = x.shape[0]"),
    ),
    in_renorm(
        "asserts-in-place-of-errors",
        "errors",
        "assert stands where ValueError is asked for",
        "AssertionError is another type, and python -O skips it.",
        "assert is for what cannot happen. Can a caller pass the wrong shape?",
        "as-a-module",
        (RANK, "        assert x.dim() in (2, 3)\n"),
        (CHANNELS, "        assert x.shape[1] == self.num_features\n"),
        (FEW, "            assert n > 1\n"),
    ),
    in_renorm(
        "one-pass-variance",
        "large-mean",
        "The variance is computed as mean of squares minus square of the mean",
        "In float32, data with a large mean give a wrong variance, or a negative one and NaN.",
        "Two large, nearly equal numbers are subtracted. How many of the seven digits are left for the difference?",
        "numerics",
        (VAR, "var = (x**2).mean(dim=axes) - mean**2"),
        seen_in=("labml",),
    ),
    in_renorm(
        "always-float32",
        "numerics",
        "The output is float32, whatever the input is",
        "float64 goes in, float32 comes out; the next layer complains of mixed dtypes.",
        "The output has the dtype of the input. Print both.",
        "numerics",
        (AFFINE, "return (self.weight.view(shape) * x_hat + self.bias.view(shape)).float()"),
    ),
    in_renorm(
        "view-of-strided",
        "numerics",
        "view is used on an input that may not be contiguous",
        "A RuntimeError that says: view size is not compatible with input tensor's size and stride.",
        "view never copies. Call the layer on x.t().contiguous().t() and read the message to its end.",
        "numerics",
        (AXES, AXES + "        x.view(-1)\n"),
    ),
    in_renorm(
        "input-changed",
        "numerics",
        "The input is changed in place",
        "The caller's tensor is normalized after the call; a skip connection adds the wrong thing.",
        "x belongs to the caller. Compare it with a clone that you took before the call.",
        "numerics",
        (AFFINE, "x.data.copy_(x_hat.data)\n        " + AFFINE),
    ),
    in_renorm(
        "single-channel-squeezed",
        "training",
        "Axes of length 1 are squeezed out of the output",
        "A layer for one channel returns an output with fewer axes than its input.",
        "squeeze() removes every axis of length 1. Which of them did you mean?",
        "numerics",
        (AFFINE, "return (self.weight.view(shape) * x_hat + self.bias.view(shape)).squeeze()"),
    ),
    in_renorm(
        "calls-batch-norm",
        "training",
        "torch's batch norm does the normalizing",
        "The numbers are right, but the work is not yours.",
        "The task is to write what this call does. Start from the formula and put each symbol into a line.",
        "batch-renorm",
        (X_HAT, "x_hat = nn.functional.batch_norm(x, None, None, training=True, eps=self.eps)\n"),
    ),
)
