"""Honest variants of lab 6 that are the plain solution with some lines written in another way."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab06_beyond.plain import (
    AFFINE,
    CORRECTED,
    EVALUATION,
    LENGTH,
    MEAN,
    NO_GRAD,
    RUNNING_MEAN,
    RUNNING_STD,
    SIGMA,
    UPDATE,
    VAR,
    WEIGHT,
    X_HAT,
    D,
    R,
    Y,
    in_style,
)

CLIPS = f"{NO_GRAD}                {R}\n                {D}\n"
PLAIN_INIT = (
    "v = torch.sin(torch.arange(1.0, in_features * out_features + 1)).view(out_features, in_features)\n"
    "        v = v / in_features**0.5\n"
)
START = "self.weight_g = nn.Parameter(torch.sqrt((v**2).sum(dim=1, keepdim=True)))"
BOTH_BUFFERS = "        self.update(mean, sigma)\n"

LINES: tuple[Variant, ...] = (
    in_style("plain", "The plain solution"),
    in_style(
        "torch-style",
        "var_mean, lerp_ and detach; F.linear on a normalized weight",
        (
            (MEAN, "var, mean = torch.var_mean(x, axes, correction=0)"),
            (VAR, "mean, var = mean.flatten(), var.flatten()"),
            (SIGMA, "sigma = var.add(self.eps).sqrt()"),
            (
                CLIPS,
                "            r = torch.clamp(sigma.detach() / self.running_std, min=1.0 / self.r_max, max=self.r_max)\n"
                "            d = torch.clamp(\n"
                "                (mean.detach() - self.running_mean) / self.running_std, min=-self.d_max, max=self.d_max\n"
                "            )\n",
            ),
            (RUNNING_MEAN, "self.running_mean.lerp_(mean, self.momentum)"),
            (RUNNING_STD, "self.running_std.lerp_(sigma, self.momentum)"),
            (AFFINE, "return torch.addcmul(self.bias.view(shape), self.weight.view(shape), x_hat)"),
        ),
        (
            (PLAIN_INIT, "v = nn.Linear(in_features, out_features).weight.detach().clone()\n"),
            (START, "self.weight_g = nn.Parameter(torch.linalg.vector_norm(v, dim=1, keepdim=True))"),
            (LENGTH, "direction = nn.functional.normalize(self.weight_v, dim=1)"),
            (WEIGHT, "weight = direction * self.weight_g"),
            (Y, "return nn.functional.linear(x, weight, self.bias)"),
        ),
    ),
    in_style(
        "rebinding",
        "Buffers are bound anew, outputs scaled instead of the weight",
        (
            (RUNNING_MEAN, "self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * mean"),
            (RUNNING_STD, "self.running_std = (1 - self.momentum) * self.running_std + self.momentum * sigma"),
            (EVALUATION, "x_hat = (x - self.running_mean.view(shape)) * self.running_std.reciprocal().view(shape)"),
        ),
        (
            (WEIGHT, "scale = (self.weight_g / length).squeeze(1)"),
            (Y, "y = (x @ self.weight_v.t()) * scale"),
        ),
    ),
    in_style(
        "scale-and-shift",
        "One scale and one shift per channel, for both modes; einsum for the matrix",
        (
            (X_HAT, "scale, shift = r / sigma, d - mean * r / sigma\n"),
            (f"            {CORRECTED}\n", ""),
            (EVALUATION, "scale, shift = 1 / self.running_std, -self.running_mean / self.running_std"),
            (
                AFFINE,
                "scale, shift = scale * self.weight, shift * self.weight + self.bias\n"
                "        return x * scale.view(shape_of) + shift.view(shape_of)",
            ),
            ("shape = [1, -1] + [1] * (x.dim() - 2)\n", "shape = shape_of = [1, -1] + [1] * (x.dim() - 2)\n"),
        ),
        ((Y, 'y = torch.einsum("...i,oi->...o", x, weight)'),),
    ),
    in_style(
        "stop-gradient-by-data",
        "r and d from .data, clipped by minimum and maximum; the length by hypot over columns",
        (
            (
                CLIPS,
                "            s, b, m = sigma.data, mean.data, self.running_mean\n"
                "            up, right = torch.full_like(s, self.r_max), torch.full_like(s, self.d_max)\n"
                "            r = torch.maximum(torch.minimum(s / self.running_std, up), 1 / up)\n"
                "            d = torch.maximum(torch.minimum((b - m) / self.running_std, right), -right)\n",
            ),
        ),
        (
            (
                LENGTH,
                "length = self.weight_v[:, :1].abs()\n"
                "        for column in self.weight_v.split(1, dim=1)[1:]:\n"
                "            length = torch.hypot(length, column)",
            ),
        ),
    ),
    in_style(
        "affine-folded-with-care",
        "The affine part is distributed over the correction; the unit rows are made first",
        (
            (
                CORRECTED,
                "x_hat = (self.weight * r).view(shape) * x_hat + (self.weight * d + self.bias).view(shape)",
            ),
            (EVALUATION, EVALUATION + "\n            x_hat = self.weight.view(shape) * x_hat + self.bias.view(shape)"),
            (AFFINE, "return x_hat"),
        ),
        ((WEIGHT, "unit = self.weight_v / length\n        weight = unit.mul(self.weight_g)"),),
    ),
    in_style(
        "update-first-from-copies",
        "The running values move first; r and d use copies of the old ones",
        (
            (
                CLIPS,
                "            old_mean, old_std = self.running_mean.clone(), self.running_std.clone()\n"
                "            self.update(mean, sigma)\n"
                "            with torch.no_grad():\n"
                "                r = (sigma / old_std).clamp(1 / self.r_max, self.r_max)\n"
                "                d = ((mean - old_mean) / old_std).clamp(-self.d_max, self.d_max)\n",
            ),
            (CORRECTED + "\n" + UPDATE, CORRECTED + "\n"),
        ),
        ((LENGTH, "length = self.weight_v.norm(p=2, dim=-1, keepdim=True)"),),
    ),
    in_style(
        "prints-and-warns",
        "Prints in forward, tuples, an unused attribute, a squared sum by a product",
        (
            (UPDATE, UPDATE + '            print("r", r, "d", d)\n            self.last_r = r\n'),
        ),
        (
            (LENGTH, "length = (self.weight_v @ self.weight_v.t()).diagonal().sqrt().unsqueeze(1)"),
            (Y, 'print("x", x.shape)\n        y = x.matmul(weight.mT)'),
        ),
    ),
)  # fmt: skip
