"""Mistakes about the set: which values share a mean, which axis is the channel, how shapes come back.

For (N, C) most of them do not show; BatchNorm1d meets them with (N, C, L), BatchNorm2d always.
"""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab01_batch_norm.plain import AFFINE, MEAN, VAR, X_HAT, Edit, in_layer, in_layers

RANK_1D = "if x.dim() not in (2, 3):"


def _output_over(axes: str) -> Edit:
    """The output of batch statistics is normalized over the wrong axes; the running statistics stay right."""
    return (
        X_HAT,
        f"""if self.training or not tracked:
            mean = x.mean(dim={axes}, keepdim=True)
            var = x.var(dim={axes}, keepdim=True, unbiased=False)
        else:
            mean, var = mean.view(shape), var.view(shape)
        x_hat = (x - mean) / torch.sqrt(var + self.eps)""",
    )


PER_POSITION = (
    "Each position is normalized on its own, over the batch only",
    "The output differs from the expected one as soon as there is more than one position per channel; with few rows "
    "it is near -1 and 1.",
    "Write down the shape of your mean. One number per channel is wanted: which axes are still in it?",
    "the-set",
)
PER_SAMPLE = (
    "Each sample is normalized on its own: that is instance normalization",
    "Every sample has mean 0 in every channel, so differences between samples are lost.",
    "Change one sample of the batch. In batch normalization the outputs of the other samples must change too.",
    "the-set",
)
CHANNELS_LAST = (
    "The last axis is taken for the channels",
    "Calls fail, or are silently wrong when the last axis happens to be as long as the channel axis.",
    "The contract puts the channels in a fixed place, whatever the rank. Which index of x.shape is C?",
    "the-set",
)
WITHOUT_PERMUTE = (
    "reshape(-1, C) without moving the channel axis to the end mixes the channels",
    "The statistics are those of a mixture of channels; right only with one position per channel or one channel.",
    "reshape never moves a number in memory order. Take a tensor of shape (1, 2, 3) holding 0..5 and look at its rows.",
    "the-set",
)
NOT_MOVED_BACK = (
    "The values are not put back where they came from: a reshape in place of the inverse permute",
    "Shape, mean and variance of the output are right, but the values stand in the wrong places.",
    "Use the identity in place of the normalization: does your layer then return its input?",
    "the-set",
)
LEFT_PERMUTED = (
    "The output keeps the channels-last order in which it was computed",
    "The output has its axes in another order than the input.",
    "The layer's promise starts with: the output has the shape of the input. Compare the two shapes for N, C and L "
    "all different.",
    "the-set",
)

AXES: tuple[Mistake, ...] = (
    in_layer(1, "per-position", "ncl", *PER_POSITION, (_output_over("0"),)),
    in_layer(2, "per-position", "training", *PER_POSITION, (_output_over("0"),)),
    in_layer(1, "per-sample", "ncl", *PER_SAMPLE, (_output_over("0 if x.dim() == 2 else 2"),)),
    in_layer(2, "per-sample", "training", *PER_SAMPLE, (_output_over("(-2, -1)"),)),
    in_layer(
        2,
        "columns-kept-apart",
        "training",
        "The statistics are taken over the batch and the height only: each column has its own",
        "Right for images one pixel wide, wrong otherwise.",
        "Count the values that share one mean for a batch of shape (2, 3, 4, 5). There should be 2 * 4 * 5.",
        "the-set",
        (_output_over("(0, 2)"),),
    ),
    *in_layers(
        "whole-tensor",
        "training",
        "One mean and one variance for the whole tensor, not one per channel",
        "Channels with different means stay different; their average is 0, each of them is not.",
        "Give one channel an offset of 100 and leave the others. What must happen to it in the output?",
        "the-set",
        _output_over("tuple(range(x.dim()))"),
    ),
    *in_layers(
        "across-channels",
        "training",
        "The channels of each sample are normalized together: that is layer normalization's set",
        "Each row has mean 0; the columns have not.",
        "Does a value share its mean with the same channel in other samples, or with other channels in the same "
        "sample?",
        "the-set",
        _output_over("1"),
    ),
    *in_layers(
        "average-of-variances",
        "training",
        "The variance is the average of each sample's own variance",
        "Too small: how much the samples differ from one another is missing from it.",
        "Two samples, one all 0 and one all 10: each has variance 0. What is the variance of all their values "
        "together?",
        "the-set",
        (
            VAR,
            VAR + "\n            inner = x.var(dim=axes[1:], unbiased=False).mean(dim=0) if x.dim() > 2 else var",
        ),
        ("self.update(mean, var, n)\n", "self.update(mean, var, n)\n            var = inner\n"),
        topic_1d="ncl",
    ),
    in_layer(
        1, "channels-last", "ncl", *CHANNELS_LAST,
        (
            ("if x.shape[1] != self.num_features:", "if x.shape[-1] != self.num_features:"),
            ("channels, got {x.shape[1]}", "channels, got {x.shape[-1]}"),
            ("if axis != 1]", "if axis != x.dim() - 1]"),
            ("shape = [1, -1] + [1] * (x.dim() - 2)", "shape = [1] * (x.dim() - 1) + [-1]"),
            ("n = x.numel() // x.shape[1]", "n = x.numel() // x.shape[-1]"),
        ),
        ("the first version of this course", "models moved over from Keras"),
    ),
    in_layer(
        2, "channels-last", "training", *CHANNELS_LAST,
        (
            ("if x.shape[1] != self.num_features:", "if x.shape[-1] != self.num_features:"),
            ("channels, got {x.shape[1]}", "channels, got {x.shape[-1]}"),
            ("if axis != 1]", "if axis != x.dim() - 1]"),
            ("shape = [1, -1] + [1] * (x.dim() - 2)", "shape = [1] * (x.dim() - 1) + [-1]"),
            ("n = x.numel() // x.shape[1]", "n = x.numel() // x.shape[-1]"),
        ),
        ("models moved over from Keras",),
    ),
    *(
        in_layer(
            dims, "reshape-without-permute", topic, *WITHOUT_PERMUTE,
            (
                (MEAN, "flat = x.reshape(-1, x.shape[1])\n            mean = flat.mean(dim=0)"),
                (VAR, "var = ((flat - mean) ** 2).mean(dim=0)"),
            ),
        )
        for dims, topic in ((1, "ncl"), (2, "training"))
    ),
    *(
        in_layer(
            dims, "values-not-moved-back", topic, *NOT_MOVED_BACK,
            (
                (
                    X_HAT,
                    "last = x.movedim(1, -1)\n"
                    "        x_hat = ((last - mean) / torch.sqrt(var + self.eps)).reshape(x.shape)",
                ),
            ),
        )
        for dims, topic in ((1, "ncl"), (2, "training"))
    ),
    *(
        in_layer(
            dims, "channels-left-last", topic, *LEFT_PERMUTED,
            (
                (X_HAT, "x_hat = (x.movedim(1, -1) - mean) / torch.sqrt(var + self.eps)"),
                (
                    "return x_hat\n        return self.weight.view(shape) * x_hat + self.bias.view(shape)",
                    "return x_hat\n        return self.weight * x_hat + self.bias",
                ),
            ),
        )
        for dims, topic in ((1, "ncl"), (2, "training"))
    ),
    *in_layers(
        "affine-on-last-axis",
        "training",
        "weight and bias are laid along the last axis, not along the channels",
        "A shape error, or wrong values without an error when the last axis is as long as the channel axis.",
        "Broadcasting starts from the last axis. Write the shape of weight under the shape of x, flush right.",
        "affine",
        (
            AFFINE,
            "return self.weight * x_hat + self.bias",
        ),
        topic_1d="ncl",
    ),
    in_layer(
        1,
        "three-axes-refused",
        "ncl",
        "An input of shape (N, C, L) is refused",
        "A ValueError for sequences; tables work.",
        "Read the list of input shapes again. Which line of yours decides that three axes are an error?",
        "the-set",
        ((RANK_1D, "if x.dim() != 2:"),),
    ),
    in_layer(
        1,
        "length-not-in-running-count",
        "running",
        "Bessel's correction of the running variance counts the batch only, not batch times length",
        "running_var is too large for (N, C, L), most of all for small N; for (N, C) it is right.",
        "n in n / (n - 1) is the number of values behind one variance. How many are there in a (2, C, 5) batch?",
        "bn-running-statistics",
        (("self.update(mean, var, n)\n", "self.update(mean, var, x.shape[0])\n"),),
    ),
    in_layer(
        2,
        "pixels-not-in-running-count",
        "running",
        "Bessel's correction of the running variance counts the batch only, not batch times height times width",
        "running_var is too large, most of all for small batches.",
        "n in n / (n - 1) is the number of values behind one variance. How many are there in a (2, C, 5, 5) batch?",
        "bn-running-statistics",
        (("self.update(mean, var, n)\n", "self.update(mean, var, x.shape[0])\n"),),
    ),
)  # fmt: skip
