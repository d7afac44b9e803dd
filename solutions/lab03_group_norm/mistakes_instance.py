"""Mistakes in InstanceNorm2d: what it keeps, over what it averages."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab03_group_norm.plain import (
    FAMILY,
    IMAGE_AFFINE,
    IMAGE_BIAS,
    IMAGE_MEAN,
    IMAGE_VAR,
    IMAGE_WEIGHT,
    IMAGE_X_HAT,
    PLAIN_GROUP,
    in_instance,
)

INIT = "def __init__(self, num_features, eps=1e-5, affine=False):"
BUFFERS = (
    'self.register_buffer("running_mean", torch.zeros(num_features){more})\n'
    '        self.register_buffer("running_var", torch.ones(num_features){more})\n        '
)
TRACKED = """
        if self.training:
            with torch.no_grad():
                self.running_mean.lerp_(mean.mean(dim=(0, 2, 3)), 0.1)
                self.running_var.lerp_(var.mean(dim=(0, 2, 3)), 0.1)
        else:
            mean, var = self.running_mean.view(1, -1, 1, 1), self.running_var.view(1, -1, 1, 1)"""

WRAPPED = (
    PLAIN_GROUP
    + """

class InstanceNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, affine=False):
        super().__init__()
        self.num_features = num_features
        self.norm = GroupNorm(num_features, num_features, eps, affine)

    def forward(self, x):
        if x.dim() != 4:
            raise ValueError(f"expected (N, C, H, W), got {tuple(x.shape)}")
        if x.shape[2:].numel() == 1:
            raise ValueError(f"one pixel has no variance, got {tuple(x.shape)}")
        return self.norm(x)
"""
)

INSTANCE: tuple[Mistake, ...] = (
    in_instance(
        "affine-by-default", "interface", "affine is true by default",
        "A fresh layer has parameters that torch's InstanceNorm2d hasn't.",
        "Compare the defaults of the two layers in this lab. They are not the same.",
        "affine",
        (INIT, INIT.replace("False", "True")),
    ),
    in_instance(
        "tracks-by-default", "interface", "Running statistics are kept, as in batch normalization",
        "state_dict() holds running_mean and running_var.",
        "The task text says what this layer remembers between two calls.",
        "as-a-module",
        (IMAGE_WEIGHT, BUFFERS.format(more="") + IMAGE_WEIGHT),
    ),
    in_instance(
        "affine-ignored", "interface", "affine=True is accepted and ignored",
        "The layer never has parameters.",
        "Build the layer with affine=True and list its parameters.",
        "affine",
        (IMAGE_WEIGHT, "self.weight = None"),
        (IMAGE_BIAS, "self.bias = None"),
    ),
    in_instance(
        "affine-before-eps", "interface", "The constructor takes affine before eps",
        "InstanceNorm2d(2, 0.5) has parameters and the default eps.",
        "Arguments may be given by position. Compare the order of yours with the contract's.",
        "as-a-module",
        (INIT, "def __init__(self, num_features, affine=False, eps=1e-5):"),
    ),
    in_instance(
        "group-norm-inside", "interface", "InstanceNorm2d keeps a GroupNorm inside, so its parameters carry another name",
        "The keys of the state_dict are norm.weight and norm.bias; one from torch.nn can't be loaded.",
        "The computation may be shared, the names may not change. How can a class get another one's attributes as its own?",
        "as-a-module",
        source=WRAPPED,
    ),
    in_instance(
        "one-weight-for-all", "interface", "weight and bias are single numbers shared by all channels",
        "weight has shape (1,); a state_dict from torch.nn has C numbers there.",
        "How many numbers does an affine layer for C channels learn?",
        "affine",
        (IMAGE_WEIGHT, IMAGE_WEIGHT.replace("(num_features)", "(1)")),
        (IMAGE_BIAS, IMAGE_BIAS.replace("(num_features)", "(1)")),
    ),
    in_instance(
        "over-the-batch", "output", "The statistics are taken over the batch as well: that is batch normalization",
        "One image's output depends on the others; it is right for a batch of one.",
        "Call the layer on two images and on the first alone. The two outputs for it must agree.",
        FAMILY,
        (IMAGE_MEAN, "mean = x.mean(dim=(0, 2, 3), keepdim=True)"),
        (IMAGE_VAR, "var = ((x - mean) ** 2).mean(dim=(0, 2, 3), keepdim=True)"),
    ),
    in_instance(
        "over-the-channels", "output", "The statistics are taken over the channels as well: that is one group for all",
        "Differences between the channels of an image stay; here they should go.",
        "How many means does an image with 3 channels have in instance normalization?",
        FAMILY,
        (IMAGE_MEAN, "mean = x.mean(dim=(1, 2, 3), keepdim=True)"),
        (IMAGE_VAR, "var = ((x - mean) ** 2).mean(dim=(1, 2, 3), keepdim=True)"),
    ),
    in_instance(
        "rows-kept-apart", "output", "Only the last axis is averaged: each row of an image has its own statistics",
        "Right for images of one row, wrong otherwise.",
        "Print the shape of your mean. Which of its axes should be gone?",
        "the-set",
        (IMAGE_MEAN, "mean = x.mean(dim=3, keepdim=True)"),
        (IMAGE_VAR, "var = ((x - mean) ** 2).mean(dim=3, keepdim=True)"),
    ),
    in_instance(
        "running-in-evaluation", "output", "Evaluation uses running statistics",
        "Training is right; in evaluation images are hardly normalized.",
        "What does the task text say about the two modes of this layer?",
        "the-set",
        (IMAGE_WEIGHT, BUFFERS.format(more=", persistent=False") + IMAGE_WEIGHT),
        (IMAGE_VAR, IMAGE_VAR + TRACKED),
    ),
    in_instance(
        "no-centring", "output", "The values are divided by the standard deviation without subtracting the mean",
        "The outputs have unit variance, and a mean of mu/sigma in place of 0.",
        "Make an image brighter by 100. Should the output change?",
        "bn-forward",
        (IMAGE_X_HAT, "x_hat = x / torch.sqrt(var + self.eps)"),
    ),
    in_instance(
        "unbiased-variance", "output", "The images are normalized with the unbiased variance",
        "Every output is too small by the factor sqrt((m-1)/m), m the number of pixels.",
        "Compare your output with the expected one for an image of two pixels: what number is their ratio?",
        "bn-forward",
        (IMAGE_VAR, "var = x.var(dim=(2, 3), keepdim=True)"),
    ),
    in_instance(
        "eps-ignored", "output", "The constructor's eps is ignored: a constant stands in the formula",
        "Nothing to see at the default; with eps=0.5 the outputs are too large.",
        "Search for the line that uses self.eps.",
        "epsilon",
        (IMAGE_X_HAT, "x_hat = (x - mean) / torch.sqrt(var + 1e-5)"),
    ),
    in_instance(
        "eps-outside-root", "output", "eps is added to the standard deviation, outside the root",
        "Invisible at unit variance; small numbers come out too small.",
        "With a variance of 0 and eps of 0.01, what is the denominator: 0.01 or 0.1?",
        "epsilon",
        (IMAGE_X_HAT, "x_hat = (x - mean) / (torch.sqrt(var) + self.eps)"),
    ),
    in_instance(
        "affine-on-last-axis", "output", "weight and bias are laid along the last axis, not along the channels",
        "A shape error, or wrong values without an error where W equals C.",
        "Broadcasting starts from the last axis. Write the shape of weight under the shape of x, flush right.",
        "affine",
        (IMAGE_AFFINE, "return self.weight * x_hat + self.bias"),
    ),
    in_instance(
        "affine-in-training-only", "output", "weight and bias are used in training mode only",
        "Training is right; in evaluation the trained parameters have no effect.",
        "Where does the formula of this layer speak of a mode?",
        "affine",
        ("if self.weight is None:", "if self.weight is None or not self.training:"),
    ),
)  # fmt: skip
