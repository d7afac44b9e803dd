"""Mistakes in which values share a mean: LayerNorm's axes, for one last axis and for several; and its modes."""

from __future__ import annotations

from solutions.lab02_layer_norm.plain import AFFINE, AXES, BIAS, FORWARD, INT, MEAN, TUPLE, VAR, WEIGHT, X_HAT, in_layer

SET_HINT = "Write down which numbers of x share a mean: one set for each what? Count the means you should get."
BATCH_MATES = "book/key-challenges.html#batch-mates"

RUNNING = """\
        if self.training:
            self.running = (mean.detach().mean(), var.detach().mean())
        elif self.running is not None:
            mean, var = self.running
"""

AXES_AND_MODES = (
    in_layer(
        "whole-tensor",
        "output",
        "One mean and one variance for the whole tensor",
        "The rows of the output don't have mean 0, and each depends on the others.",
        SET_HINT,
        "the-set",
        (MEAN, "mean = x.mean()"),
        (VAR, "var = ((x - mean) ** 2).mean()"),
        seen_in=("A020",),
    ),
    in_layer(
        "over-the-batch",
        "output",
        "The statistics are taken over the samples, as batch norm does",
        "The columns of the output have mean 0, the rows don't; a single sample gives bias.",
        SET_HINT,
        "the-set",
        (AXES, "axes = (0,)"),
    ),
    in_layer(
        "axis-one",
        "output",
        "The statistics are taken over axis 1, which is the last one only for (N, D)",
        "(N, D) is right. For (N, T, D) every token is mixed with the others.",
        "Count from the end: which axis is the last one of (N, T, D), and of (N, T, T, D)?",
        "the-set",
        (AXES, "axes = (1,) if k == 1 and x.dim() > 1 else tuple(range(-k, 0))"),
    ),
    in_layer(
        "axis-before-last",
        "output",
        "The statistics are taken over the axis before the last",
        "Where there are as many tokens as features, no error can warn you.",
        SET_HINT,
        "the-set",
        (AXES, "axes = (-2,) if k == 1 and x.dim() > 1 else tuple(range(-k, 0))"),
        seen_in=("A086",),
    ),
    in_layer(
        "all-but-the-batch",
        "output",
        "The statistics are taken over all axes but the first, whatever normalized_shape says",
        "(N, D) is right. For (N, T, D) the tokens of a sample share one mean.",
        "normalized_shape says how many axes belong to a set. What does LayerNorm(8) mean for (4, 6, 8)?",
        "book/key-challenges.html#leak-between-examples",
        (AXES, "axes = tuple(range(1, x.dim())) or (0,)"),
        seen_in=("A023",),
    ),
    in_layer(
        "only-the-last",
        "shapes",
        "Only the last axis is normalized, although normalized_shape has several",
        "LayerNorm(8) is right; LayerNorm((6, 8)) does the same as LayerNorm(8).",
        "How many axes does normalized_shape = (6, 8) have? All of them belong to one set.",
        "the-set",
        (AXES, "axes = (-1,)"),
        seen_in=("the first version of this course",),
    ),
    in_layer(
        "first-axes",
        "shapes",
        "The statistics are taken over axes counted from the front",
        "Right only where no axis is left over in front.",
        "Are the axes of normalized_shape the first ones of x, or the last?",
        "the-set",
        (AXES, "axes = tuple(range(x.dim() - 1, x.dim())) if k == 1 else tuple(range(k))"),
    ),
    in_layer(
        "variance-between-rows-lost",
        "shapes",
        "For several axes, the variances of the rows are averaged",
        "What the rows of a set differ in is missing from the variance, so the output is too large.",
        "Is the variance of (1, 1, 9, 9) the mean of the variances of (1, 1) and (9, 9)?",
        "the-set",
        (VAR, "var = x.var(dim=-1, keepdim=True, unbiased=False).mean(dim=axes, keepdim=True)"),
    ),
    in_layer(
        "affine-on-the-last-axis",
        "shapes",
        "For several axes, weight and bias have the length of the last one only",
        "The statistics are right; weight has shape (8,) where (6, 8) is due.",
        "weight has one number for each position in a set. How many positions are there?",
        "affine",
        (WEIGHT, WEIGHT.replace("(shape)", "(shape[-1:])")),
        (BIAS, BIAS.replace("(shape)", "(shape[-1:])")),
    ),
    in_layer(
        "affine-flat",
        "shapes",
        "For several axes, weight and bias are flat",
        "weight has shape (48,) where (6, 8) is due; a state_dict from torch.nn can't be loaded.",
        "Which shape does the task give for weight?",
        "affine",
        (WEIGHT, WEIGHT.replace("(shape)", "(torch.Size(shape).numel())")),
        (BIAS, BIAS.replace("(shape)", "(torch.Size(shape).numel())")),
        (AFFINE, "return self.weight.view(shape) * x_hat + self.bias.view(shape)"),
        (FORWARD, FORWARD + "        shape = self.normalized_shape\n"),
        seen_in=("A025",),
    ),
    in_layer(
        "axes-not-kept",
        "output",
        "The reduced axes are dropped, so mean and var line up with the wrong axis",
        "An error about sizes, or, for as many samples as features, a silent wrong result.",
        "Print the shapes of x and of the mean. Which axis of x does broadcasting put the mean against?",
        "the-set",
        (MEAN, MEAN.replace(", keepdim=True", "")),
        (VAR, VAR.replace(", keepdim=True", "")),
    ),
    in_layer(
        "running-in-evaluation",
        "modes",
        "In evaluation mode it uses statistics remembered from training",
        "Training is right; after eval() the output depends on what was seen before.",
        "Layer norm has one behaviour. Which line of yours asks for the mode?",
        "bn-evaluation",
        (TUPLE, TUPLE + "\n        self.running = None"),
        (X_HAT, RUNNING.lstrip() + "        " + X_HAT),
    ),
    in_layer(
        "off-in-evaluation",
        "modes",
        "In evaluation mode nothing is normalized",
        "Training is right; after eval() the layer only scales and shifts.",
        "Layer norm has one behaviour. Which line of yours asks for the mode?",
        "bn-evaluation",
        (X_HAT, X_HAT + " if self.training else x"),
    ),
    in_layer(
        "one-sample-refused",
        "modes",
        "A single sample is refused in training mode, as batch norm does",
        "ValueError for a batch of one.",
        "Which numbers share a mean here? How many of them are there, when there is one sample?",
        "few-values",
        (
            AXES,
            'if self.training and x.dim() > 1 and len(x) == 1:\n            raise ValueError("one sample only")\n        '
            + AXES,
        ),
    ),
    in_layer(
        "first-mean-for-ever",
        "modes",
        "The statistics of the first call are kept for all later ones",
        "The first call is right, the second is not.",
        "Call the layer twice, with two inputs. What is left of the first one in the second call?",
        BATCH_MATES,
        (INT, INT + "        self.first = None\n"),
        (
            X_HAT,
            "if self.first is None:\n            self.first = (mean.detach(), var.detach())\n"
            "        mean, var = self.first\n        " + X_HAT,
        ),
    ),
)
