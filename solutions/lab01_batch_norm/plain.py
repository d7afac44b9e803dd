"""The plain sources of lab 1, and the small edits that turn them into wrong ones.

Not the reference: that is written to be read. These texts are written to be cut: every line does one
thing, so that a mistake is one line changed. Each text defines one name and carries its own imports.
"""

from __future__ import annotations

from autograder.checks.check import Mistake, Variant

FORMULATION = "book/mathematical-formulation.html#"

PLAIN_1D = """\
import torch
from torch import nn


class BatchNorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.weight = nn.Parameter(torch.ones(num_features)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_features)) if affine else None
        track = track_running_stats
        self.register_buffer("running_mean", torch.zeros(num_features) if track else None)
        self.register_buffer("running_var", torch.ones(num_features) if track else None)
        self.register_buffer("num_batches_tracked", torch.tensor(0) if track else None)

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError(f"expected (N, C) or (N, C, L), got {tuple(x.shape)}")
        if x.shape[1] != self.num_features:
            raise ValueError(f"expected {self.num_features} channels, got {x.shape[1]}")
        axes = [axis for axis in range(x.dim()) if axis != 1]
        shape = [1, -1] + [1] * (x.dim() - 2)
        tracked = self.running_mean is not None
        if self.training or not tracked:
            n = x.numel() // x.shape[1]
            if n < 2:
                raise ValueError(f"{tuple(x.shape)} has one value per channel")
            mean = x.mean(dim=axes)
            var = ((x - mean.view(shape)) ** 2).mean(dim=axes)
            if tracked:
                self.update(mean, var, n)
        else:
            mean, var = self.running_mean, self.running_var
        x_hat = (x - mean.view(shape)) / torch.sqrt(var.view(shape) + self.eps)
        if self.weight is None:
            return x_hat
        return self.weight.view(shape) * x_hat + self.bias.view(shape)

    @torch.no_grad()
    def update(self, mean, var, n):
        self.num_batches_tracked += 1
        rate = self.momentum
        if rate is None:
            rate = 1 / self.num_batches_tracked.item()
        self.running_mean += rate * (mean - self.running_mean)
        self.running_var += rate * (var * n / (n - 1) - self.running_var)
"""

PLAIN_BACKWARD = """\
import torch


def batch_norm_backward(grad_out, x, weight, eps=1e-5):
    mean = x.mean(dim=0)
    var = ((x - mean) ** 2).mean(dim=0)
    inv_std = 1 / torch.sqrt(var + eps)
    x_hat = (x - mean) * inv_std
    grad_weight = (grad_out * x_hat).sum(dim=0)
    grad_bias = grad_out.sum(dim=0)
    g = grad_out * weight
    mean_term = g.mean(dim=0)
    x_hat_term = x_hat * (g * x_hat).mean(dim=0)
    grad_x = inv_std * (g - mean_term - x_hat_term)
    return grad_x, grad_weight, grad_bias
"""

# The lines that are changed most, quoted from the text above; `edit` fails if they no longer stand there.
IMPORT = "import torch\nfrom torch import nn\n"
WEIGHT = "self.weight = nn.Parameter(torch.ones(num_features)) if affine else None"
BIAS = "self.bias = nn.Parameter(torch.zeros(num_features)) if affine else None"
BRANCH = "if self.training or not tracked:"
MEAN = "mean = x.mean(dim=axes)"
VAR = "var = ((x - mean.view(shape)) ** 2).mean(dim=axes)"
UPDATE = "self.update(mean, var, n)\n"
X_HAT = "x_hat = (x - mean.view(shape)) / torch.sqrt(var.view(shape) + self.eps)"
AFFINE = "return self.weight.view(shape) * x_hat + self.bias.view(shape)"
RUNNING_MEAN = "self.running_mean += rate * (mean - self.running_mean)"
RUNNING_VAR = "self.running_var += rate * (var * n / (n - 1) - self.running_var)"

Edit = tuple[str, str]


def as_2d(source: str) -> str:
    """The BatchNorm2d twin of a BatchNorm1d source: another name and another rank, nothing else."""
    return (
        source.replace("BatchNorm1d", "BatchNorm2d")
        .replace("(2, 3)", "(4,)")
        .replace("(N, C) or (N, C, L)", "(N, C, H, W)")
    )


def both(source_1d: str) -> dict[str, str]:
    """The two layers from one text."""
    return {"BatchNorm1d": source_1d, "BatchNorm2d": as_2d(source_1d)}


PLAIN = {**both(PLAIN_1D), "batch_norm_backward": PLAIN_BACKWARD}


def edit(source: str, *edits: Edit) -> str:
    """Replace each old text by its new one.

    Raises:
        ValueError: if an old text does not stand in the source exactly once, so that an edit
            can never silently do nothing.
    """
    for old, new in edits:
        if source.count(old) != 1:
            raise ValueError(
                f"an edit must hit one place; {old!r} stands there {source.count(old)} times; quote more of the line"
            )
        source = source.replace(old, new)
    return source


def in_layer(
    dims: int, ident: str, topic: str, title: str, symptom: str, hint: str, anchor: str,
    edits: tuple[Edit, ...] | str, seen_in: tuple[str, ...] = (),
) -> Mistake:  # fmt: skip
    """One mistake in one layer; `edits` change the plain source, or are a whole 1-d source."""
    source = edits if isinstance(edits, str) else edit(PLAIN_1D, *edits)
    return Mistake(
        id=f"{ident}-{dims}d",
        exercise=f"BatchNorm{dims}d",
        check=f"bn{dims}d-{topic}",
        title=title,
        symptom=symptom,
        hint=hint,
        page=FORMULATION + anchor,
        source=source if dims == 1 else as_2d(source),
        seen_in=seen_in,
    )


def in_layers(
    ident: str, topic: str, title: str, symptom: str, hint: str, anchor: str,
    *edits: Edit, seen_in: tuple[str, ...] = (), topic_1d: str | None = None,
) -> tuple[Mistake, Mistake]:  # fmt: skip
    """The same mistake in BatchNorm1d and in BatchNorm2d: a student can spoil either."""
    return (
        in_layer(1, ident, topic_1d or topic, title, symptom, hint, anchor, edits, seen_in),
        in_layer(2, ident, topic, title, symptom, hint, anchor, edits, seen_in),
    )


def in_backward(
    ident: str, topic: str, title: str, symptom: str, hint: str, anchor: str,
    *edits: Edit, seen_in: tuple[str, ...] = (), source: str | None = None,
) -> Mistake:  # fmt: skip
    """One mistake in batch_norm_backward, by edits of the plain source or as a whole source."""
    return Mistake(
        id=f"backward-{ident}",
        exercise="batch_norm_backward",
        check=f"bnb-{topic}",
        title=title,
        symptom=symptom,
        hint=hint,
        page=FORMULATION + anchor,
        source=edit(PLAIN_BACKWARD, *edits) if source is None else source,
        seen_in=seen_in,
    )


def in_style(ident: str, title: str, *edits: Edit, backward: str = PLAIN_BACKWARD) -> Variant:
    """A variant whose two layers are the plain ones with some lines written in another way."""
    return Variant(ident, title, {**both(edit(PLAIN_1D, *edits)), "batch_norm_backward": backward})
