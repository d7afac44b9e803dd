"""Honest layers that are the plain ones with some lines written in another way."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab03_group_norm.plain import (
    AFFINE,
    GROUPED,
    IMAGE_AFFINE,
    IMAGE_MEAN,
    IMAGE_VAR,
    IMAGE_X_HAT,
    MEAN,
    PLAIN_GROUP,
    PLAIN_INSTANCE,
    PUT_BACK,
    VAR,
    edit,
    variant,
)

EINOPS_GROUP = edit(
    PLAIN_GROUP,
    ("from torch import nn\n", "from einops import rearrange, reduce\nfrom torch import nn\n"),
    (GROUPED, 'grouped = rearrange(x, "n (g k) ... -> n g k ...", g=groups)'),
    (MEAN, 'mean = reduce(grouped, "n g k ... -> n g", "mean")\n'
           "        mean = mean.reshape(*mean.shape, *[1] * (x.dim() - 1))"),
    (VAR, 'var = reduce((grouped - mean) ** 2, "n g k ... -> n g", "mean").reshape(mean.shape)'),
    (PUT_BACK, 'x_hat = rearrange(x_hat, "n g k ... -> n (g k) ...")'),
)  # fmt: skip

EINOPS_INSTANCE = edit(
    PLAIN_INSTANCE,
    ("from torch import nn\n", "from einops import rearrange, reduce, repeat\nfrom torch import nn\n"),
    (IMAGE_MEAN, 'mean = reduce(x, "n c h w -> n c 1 1", "mean")'),
    (IMAGE_VAR, 'var = reduce((x - mean) ** 2, "n c h w -> n c 1 1", "mean")'),
    (IMAGE_AFFINE, 'weight = rearrange(self.weight, "c -> 1 c 1 1")\n'
                   '        return weight * x_hat + repeat(self.bias, "c -> 1 c 1 1")'),
)  # fmt: skip

FLOAT32_GROUP = edit(
    PLAIN_GROUP,
    (GROUPED, "grouped = x.float().reshape(x.shape[0], groups, -1)"),
    ("            return x_hat\n", "            return x_hat.to(x.dtype)\n"),
    (AFFINE, "return (self.weight.float().view(shape) * x_hat + self.bias.float().view(shape)).to(x.dtype)"),
)

FLOAT32_INSTANCE = edit(
    PLAIN_INSTANCE,
    (IMAGE_MEAN, "dtype, x = x.dtype, x.float()\n        " + IMAGE_MEAN),
    ("            return x_hat\n", "            return x_hat.to(dtype)\n"),
    (IMAGE_AFFINE,
     "return (self.weight.float().view(1, -1, 1, 1) * x_hat + self.bias.float().view(1, -1, 1, 1)).to(dtype)"),
)  # fmt: skip

DOUBLE_GROUP = edit(
    PLAIN_GROUP,
    (GROUPED, "grouped = x.double().reshape(x.shape[0], groups, -1)"),
    (PUT_BACK, PUT_BACK + ".to(x.dtype)"),
)

PRINTS_GROUP = (
    edit(
        PLAIN_GROUP,
        ("import torch\n", "import warnings\n\nimport torch\n"),
        (
            MEAN,
            '_print(f"{groups} groups of", grouped.shape[2])\n        warnings.warn("normalizing", stacklevel=2)\n        '
            + MEAN,
        ),
        (
            "        super().__init__()\n",
            '        super().__init__()\n        _print("building", num_groups, num_channels)\n',
        ),
    )
    + """

def _print(*words):
    print("[group norm]", *words)
"""
)

WELFORD_GROUP = edit(
    PLAIN_GROUP,
    (MEAN + "\n        " + VAR,
     "mean = squares = torch.zeros_like(grouped[:, :, :1])\n"
     "        for seen in range(grouped.shape[2]):\n"
     "            value = grouped[:, :, seen : seen + 1]\n"
     "            delta = value - mean\n"
     "            mean = mean + delta / (seen + 1)\n"
     "            squares = squares + delta * (value - mean)\n"
     "        var = squares / grouped.shape[2]"),
)  # fmt: skip

PAIRWISE_INSTANCE = edit(
    PLAIN_INSTANCE,
    (IMAGE_VAR, "pixels = x.flatten(2)\n"
                "        pairs = pixels[..., None] - pixels[..., None, :]\n"
                "        var = (pairs**2).mean(dim=(2, 3))[..., None, None] / 2"),
    (IMAGE_X_HAT, "x_hat = (x - mean) * (var + self.eps) ** -0.5"),
)  # fmt: skip

EDITS: tuple[Variant, ...] = (
    variant("einops", "einops for every change of shape", GroupNorm=EINOPS_GROUP, InstanceNorm2d=EINOPS_INSTANCE),
    variant(
        "float32-inside", "Everything is computed in float32 and cast back",
        GroupNorm=FLOAT32_GROUP, InstanceNorm2d=FLOAT32_INSTANCE,
    ),
    variant("float64-inside", "Statistics are computed in float64", GroupNorm=DOUBLE_GROUP),
    variant("prints-and-warnings", "Prints and warns in every call", GroupNorm=PRINTS_GROUP),
    variant(
        "welford", "Welford's one-pass update; the variance from pairs of pixels",
        GroupNorm=WELFORD_GROUP, InstanceNorm2d=PAIRWISE_INSTANCE,
    ),
)  # fmt: skip
