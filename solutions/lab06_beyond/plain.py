"""The plain sources of lab 6, and the small edits that turn them into wrong ones.

Not the reference: that is written to be read. These texts are written to be cut: every line does one thing, so that a mistake
is one line changed. PLAIN_WEIGHT starts from a fixed v, not from a drawn one, so that a source shows the same in every run.
"""

from __future__ import annotations

from autograder.checks.check import Mistake, Variant
from solutions.lab01_batch_norm.plain import Edit, edit

ADVANCED = "book/advanced-theory.html#"
FORMULATION = "book/mathematical-formulation.html#"
# Labels of the first chapter; all others stand in the chapter on advanced theory.
IN_FORMULATION = frozenset({"as-a-module", "affine", "epsilon", "few-values", "numerics", "the-set", "bn-backward"})

PLAIN_RENORM = """\
import torch
from torch import nn


class BatchRenorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.r_max = r_max
        self.d_max = d_max
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_std", torch.ones(num_features))

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError(f"expected (N, C) or (N, C, L), got {tuple(x.shape)}")
        if x.shape[1] != self.num_features:
            raise ValueError(f"expected {self.num_features} channels, got {x.shape[1]}")
        axes = [axis for axis in range(x.dim()) if axis != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        if self.training:
            n = x.numel() // x.shape[1]
            if n < 2:
                raise ValueError(f"{tuple(x.shape)} has one value per channel")
            mean = x.mean(dim=axes)
            var = ((x - mean.view(shape)) ** 2).mean(dim=axes)
            sigma = torch.sqrt(var + self.eps)
            with torch.no_grad():
                r = (sigma / self.running_std).clamp(1 / self.r_max, self.r_max)
                d = ((mean - self.running_mean) / self.running_std).clamp(-self.d_max, self.d_max)
            x_hat = (x - mean.view(shape)) / sigma.view(shape)
            x_hat = x_hat * r.view(shape) + d.view(shape)
            self.update(mean, sigma)
        else:
            x_hat = (x - self.running_mean.view(shape)) / self.running_std.view(shape)
        return self.weight.view(shape) * x_hat + self.bias.view(shape)

    @torch.no_grad()
    def update(self, mean, sigma):
        self.running_mean += self.momentum * (mean - self.running_mean)
        self.running_std += self.momentum * (sigma - self.running_std)
"""

PLAIN_WEIGHT = """\
import torch
from torch import nn


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        v = torch.sin(torch.arange(1.0, in_features * out_features + 1)).view(out_features, in_features)
        v = v / in_features**0.5
        self.weight_g = nn.Parameter(torch.sqrt((v**2).sum(dim=1, keepdim=True)))
        self.weight_v = nn.Parameter(v)
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None

    def forward(self, x):
        length = torch.sqrt((self.weight_v**2).sum(dim=1, keepdim=True))
        weight = self.weight_g * self.weight_v / length
        y = x @ weight.t()
        if self.bias is not None:
            y = y + self.bias
        return y
"""

PLAIN = {"BatchRenorm1d": PLAIN_RENORM, "WeightNormLinear": PLAIN_WEIGHT}

# The lines that are changed most, quoted from the texts above; `edit` fails if they no longer stand there.
MEAN = "mean = x.mean(dim=axes)"
VAR = "var = ((x - mean.view(shape)) ** 2).mean(dim=axes)"
SIGMA = "sigma = torch.sqrt(var + self.eps)"
R = "r = (sigma / self.running_std).clamp(1 / self.r_max, self.r_max)"
D = "d = ((mean - self.running_mean) / self.running_std).clamp(-self.d_max, self.d_max)"
X_HAT = "x_hat = (x - mean.view(shape)) / sigma.view(shape)\n"
CORRECTED = "x_hat = x_hat * r.view(shape) + d.view(shape)"
UPDATE = "            self.update(mean, sigma)\n"
NO_GRAD = "            with torch.no_grad():\n"
EVALUATION = "x_hat = (x - self.running_mean.view(shape)) / self.running_std.view(shape)"
AFFINE = "return self.weight.view(shape) * x_hat + self.bias.view(shape)"
RUNNING_MEAN = "self.running_mean += self.momentum * (mean - self.running_mean)"
RUNNING_STD = "self.running_std += self.momentum * (sigma - self.running_std)"
BUFFER_MEAN = 'self.register_buffer("running_mean", torch.zeros(num_features))'
BUFFER_STD = 'self.register_buffer("running_std", torch.ones(num_features))'
BRANCH = "        if self.training:\n"

G = "self.weight_g = nn.Parameter(torch.sqrt((v**2).sum(dim=1, keepdim=True)))"
V = "self.weight_v = nn.Parameter(v)"
BIAS = "self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None"
LENGTH = "length = torch.sqrt((self.weight_v**2).sum(dim=1, keepdim=True))"
WEIGHT = "weight = self.weight_g * self.weight_v / length"
Y = "y = x @ weight.t()"


def page(anchor: str) -> str:
    """Return the page of the book that explains a section."""
    return (FORMULATION if anchor in IN_FORMULATION else ADVANCED) + anchor


def in_renorm(
    ident: str, topic: str, title: str, symptom: str, hint: str, anchor: str,
    *edits: Edit, seen_in: tuple[str, ...] = (), source: str | None = None,
) -> Mistake:  # fmt: skip
    """One mistake in BatchRenorm1d, by edits of the plain source or as a whole source."""
    made = edit(PLAIN_RENORM, *edits) if source is None else source
    return Mistake(
        f"renorm-{ident}", "BatchRenorm1d", f"brn-{topic}", title, symptom, hint, page(anchor), made, seen_in
    )


def in_weight(
    ident: str, topic: str, title: str, symptom: str, hint: str, anchor: str,
    *edits: Edit, seen_in: tuple[str, ...] = (), source: str | None = None,
) -> Mistake:  # fmt: skip
    """One mistake in WeightNormLinear, by edits of the plain source or as a whole source."""
    made = edit(PLAIN_WEIGHT, *edits) if source is None else source
    return Mistake(
        f"weight-{ident}", "WeightNormLinear", f"wn-{topic}", title, symptom, hint, page(anchor), made, seen_in
    )


def in_style(ident: str, title: str, renorm: tuple[Edit, ...] = (), weight: tuple[Edit, ...] = ()) -> Variant:
    """A variant that is the plain solution with some lines written in another way."""
    return Variant(
        ident,
        title,
        {"BatchRenorm1d": edit(PLAIN_RENORM, *renorm), "WeightNormLinear": edit(PLAIN_WEIGHT, *weight)},
    )
