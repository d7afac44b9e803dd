"""Wrong layers that the list of named mistakes does not hold, or holds in another style: {id: (exercise, whole source of that name)}."""

# ruff: noqa: E501 - sources in one line each

from __future__ import annotations

from right_layers import LAYERS, TAIL, TRACKS, forward, output, statistics, update

from solutions.lab01_batch_norm.plain import (
    AFFINE,
    BIAS,
    BRANCH,
    MEAN,
    PLAIN_1D,
    RUNNING_MEAN,
    RUNNING_VAR,
    UPDATE,
    VAR,
    WEIGHT,
    X_HAT,
    Edit,
    as_2d,
    edit,
)

Wrong = tuple[str, str]
WRONG: dict[str, Wrong] = {}

ONE, TWO = "BatchNorm1d", "BatchNorm2d"
RANK = "if x.dim() not in (2, 3):"
WIDTH = "if x.shape[1] != self.num_features:"
COUNT = "self.num_batches_tracked += 1"
RATE = "rate = 1 / self.num_batches_tracked.item()"
FEW = "if n < 2:"
RETURN = "if self.weight is None:\n            return x_hat"
TRACKED = "tracked = self.running_mean is not None"
FROM_RUNNING = "mean, var = self.running_mean, self.running_var"
MEAN_BUFFER = 'self.register_buffer("running_mean", torch.zeros(num_features) if track else None)'
VAR_BUFFER = 'self.register_buffer("running_var", torch.ones(num_features) if track else None)'
COUNT_BUFFER = 'self.register_buffer("num_batches_tracked", torch.tensor(0) if track else None)'
SIGNATURE = "def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):"
FORWARD = "    def forward(self, x):\n"
AXES = "axes = [axis for axis in range(x.dim()) if axis != 1]"
NORMALIZED = "y = (x - mean.view(shape)) / (var.view(shape) + self.eps).sqrt()"
SCALED = "return y * self.weight.view(shape) + self.bias.view(shape) if self.affine else y"


def one(ident: str, *edits: Edit) -> None:
    """A wrong BatchNorm1d by edits of the plain one."""
    WRONG[ident + "-1d"] = (ONE, edit(PLAIN_1D, *edits))


def two(ident: str, *edits: Edit) -> None:
    """The same as a BatchNorm2d."""
    WRONG[ident + "-2d"] = (TWO, as_2d(edit(PLAIN_1D, *edits)))


def both(ident: str, *edits: Edit) -> None:
    """In either."""
    one(ident, *edits)
    two(ident, *edits)


def styled(ident: str, exercise: str, text: str) -> None:
    """A text that defines both layers in another style; only one of them is handed in."""
    other = TWO if exercise == ONE else ONE
    WRONG[f"{ident}-{exercise[-2:]}"] = (exercise, text + f"\n\ndel {other}\n")


# --- the known mistakes, in other styles -----------------------------------------------------------------------------------

styled("std-of-torch", ONE, statistics("mean = rows.mean(0)", "var = rows.std(0) ** 2"))
styled("std-of-torch", TWO, statistics("mean = rows.mean(0)", "var = rows.std(0) ** 2"))
styled("var-mean-default", TWO, statistics("var, mean = torch.var_mean(rows, 0)"))
styled(
    "divided-by-m-minus-one", ONE, statistics("mean = rows.sum(0) / m", "var = ((rows - mean) ** 2).sum(0) / (m - 1)")
)
styled("second-moment-trick", ONE, statistics("mean = rows.mean(0)", "var = (rows * rows).mean(0) - mean**2"))
styled("second-moment-relu", TWO, statistics("mean = rows.mean(0)", "var = ((rows**2).mean(0) - mean**2).clamp(min=0)"))
styled("mean-absolute-deviation", ONE, statistics("mean = rows.mean(0)", "var = (rows - mean).abs().mean(0) ** 2"))
styled("median", ONE, statistics("mean = rows.median(0).values", "var = ((rows - mean) ** 2).mean(0)"))
styled(
    "mean-under-no-grad",
    TWO,
    statistics("with torch.no_grad():", "    var, mean = torch.var_mean(rows, 0, correction=0)"),
)
styled("mean-by-item", ONE, statistics(
    "mean = torch.tensor([c.mean().item() for c in rows.unbind(1)], dtype=x.dtype)",
    "var = ((rows - mean) ** 2).mean(0)",
))  # fmt: skip
styled("view-minus-one-c", TWO, forward(
    """\
        rows = x.reshape(-1, self.num_features)
        if self.from_batch:
            mean, var = rows.mean(0), rows.var(0, unbiased=False)
            self.remember(mean, var, len(rows))
        else:
            mean, var = self.running_mean, self.running_var
        y = (rows - mean) / (var + self.eps).sqrt()
        y = y * self.weight + self.bias if self.affine else y
        return y.reshape(x.shape)
"""
))  # fmt: skip
styled("eps-outside-by-add", ONE, output("y = (x - mean.view(shape)) / var.view(shape).sqrt().add(self.eps)", SCALED))
styled("rsqrt-plus-eps", TWO, output("y = (x - mean.view(shape)) * (var.rsqrt() + self.eps).view(shape)", SCALED))
styled(
    "max-with-eps",
    ONE,
    output("y = (x - mean.view(shape)) / torch.maximum(var, torch.tensor(self.eps)).view(shape).sqrt()", SCALED),
)
styled("eps-squared", TWO, output("y = (x - mean.view(shape)) / (var.view(shape) + self.eps**2).sqrt()", SCALED))
styled(
    "hypot",
    ONE,
    output("y = (x - mean.view(shape)) / torch.hypot(var.sqrt(), torch.tensor(self.eps).to(x)).view(shape)", SCALED),
)
styled("no-broadcast", TWO, output(
    "y = (x - mean.view(shape)) / (var.view(shape) + self.eps).sqrt()",
    "return y * self.weight + self.bias if self.affine and x.shape[-1] == self.num_features else (y * self.weight.view(shape) + self.bias.view(shape) if self.affine else y)",
))  # fmt: skip
styled(
    "one-plus-gamma",
    ONE,
    output(NORMALIZED, "return y * (1 + self.weight.view(shape)) + self.bias.view(shape) if self.affine else y"),
)
styled(
    "bias-subtracted",
    TWO,
    output(NORMALIZED, "return y * self.weight.view(shape) - self.bias.view(shape) if self.affine else y"),
)
styled(
    "absolute-weight",
    ONE,
    output(NORMALIZED, "return y * self.weight.abs().view(shape) + self.bias.view(shape) if self.affine else y"),
)
styled("weight-only", ONE, output(NORMALIZED, "return y * self.weight.view(shape) if self.affine else y"))
styled(
    "bias-twice",
    TWO,
    output(
        NORMALIZED,
        "return (y * self.weight.view(shape) + self.bias.view(shape)) + self.bias.view(shape) if self.affine else y",
    ),
)
styled(
    "relu-inside",
    ONE,
    output(
        NORMALIZED, "y = y * self.weight.view(shape) + self.bias.view(shape) if self.affine else y", "return y.relu()"
    ),
)
styled(
    "clamped-output",
    TWO,
    output(
        NORMALIZED, "return (y * self.weight.view(shape) + self.bias.view(shape) if self.affine else y).clamp(-3, 3)"
    ),
)
styled(
    "rounded-output",
    ONE,
    output(
        NORMALIZED,
        "return (y * self.weight.view(shape) + self.bias.view(shape) if self.affine else y).round(decimals=3)",
    ),
)
styled("half-inside", TWO, output(NORMALIZED, "y = y.half().to(x.dtype)", SCALED))
styled("nan-to-num", ONE, output("y = torch.nan_to_num((x - mean.view(shape)) / var.view(shape).sqrt())", SCALED))
styled(
    "squeezed",
    TWO,
    output(NORMALIZED, "return (y * self.weight.view(shape) + self.bias.view(shape) if self.affine else y).squeeze()"),
)
styled(
    "detached-output",
    ONE,
    output(
        NORMALIZED,
        "return (y * self.weight.view(shape) + self.bias.view(shape) if self.affine else y).detach().requires_grad_()",
    ),
)
styled(
    "tuple-returned",
    ONE,
    output(NORMALIZED, "return (y * self.weight.view(shape) + self.bias.view(shape) if self.affine else y), mean"),
)
styled(
    "numpy-returned",
    TWO,
    output(
        NORMALIZED,
        "return (y * self.weight.view(shape) + self.bias.view(shape) if self.affine else y).detach().numpy()",
    ),
)
styled("none-returned", TWO, output(NORMALIZED, "self.output = y"))
styled("contiguous-format-lost", ONE, output(
    NORMALIZED, "y = y.as_strided(y.shape, torch.empty(y.shape).stride()) if not x.is_contiguous() else y", SCALED
))  # fmt: skip
styled("biased-running-by-lerp", TWO, update(
    *TRACKS, "self.num_batches_tracked += 1", "a = 1 / self.num_batches_tracked.item() if self.momentum is None else self.momentum",
    "self.running_mean.lerp_(mean.detach(), a)", "self.running_var.lerp_(var.detach(), a)",
))  # fmt: skip
styled("keras-momentum", ONE, update(
    *TRACKS, "self.num_batches_tracked += 1", "a = 1 - 1 / self.num_batches_tracked.item() if self.momentum is None else self.momentum",
    "self.running_mean.mul_(a).add_((1 - a) * mean.detach())", "self.running_var.mul_(a).add_((1 - a) * var.detach() * m / (m - 1))",
))  # fmt: skip
styled("keras-momentum-but-none-right", TWO, update(
    *TRACKS, "self.num_batches_tracked += 1", "a = 1 / self.num_batches_tracked.item() if self.momentum is None else 1 - self.momentum",
    "self.running_mean.lerp_(mean.detach(), a)", "self.running_var.lerp_(var.detach() * m / (m - 1), a)",
))  # fmt: skip
styled("rebound-as-attribute", ONE, LAYERS["update-by-lerp"].replace(
    'self.register_buffer("running_mean", torch.zeros(num_features) if track_running_stats else None)', "self.running_mean = torch.zeros(num_features) if track_running_stats else None"
))  # fmt: skip
styled("momentum-none-loses-first", TWO, update(
    *TRACKS, "a = 1 / max(self.num_batches_tracked.item(), 1) if self.momentum is None else self.momentum", "self.num_batches_tracked += 1",
    "self.running_mean.lerp_(mean.detach(), a)", "self.running_var.lerp_(var.detach() * m / (m - 1), a)",
))  # fmt: skip
styled("momentum-or-default", ONE, update(
    *TRACKS, "self.num_batches_tracked += 1", "a = self.momentum or 1 / self.num_batches_tracked.item()",
    "self.running_mean.lerp_(mean.detach(), a)", "self.running_var.lerp_(var.detach() * m / (m - 1), a)",
))  # fmt: skip
styled("bessel-with-samples", TWO, output(NORMALIZED, SCALED).replace("x.numel() / x.shape[1])", "x.shape[0])"))
styled("bessel-with-channels", ONE, output(NORMALIZED, SCALED).replace("x.numel() / x.shape[1])", "x.shape[1] + 1)"))
styled("graph-kept", TWO, update(
    *TRACKS, "self.num_batches_tracked += 1", "a = 1 / self.num_batches_tracked.item() if self.momentum is None else self.momentum",
    "self.running_mean = (1 - a) * self.running_mean + a * mean", "self.running_var = (1 - a) * self.running_var + a * var * m / (m - 1)",
))  # fmt: skip
styled("graph-kept-in-variance", ONE, update(
    *TRACKS, "self.num_batches_tracked += 1", "a = 1 / self.num_batches_tracked.item() if self.momentum is None else self.momentum",
    "self.running_mean.lerp_(mean.detach(), a)", "self.running_var = (1 - a) * self.running_var + a * var * m / (m - 1)",
))  # fmt: skip
styled("batch-statistics-always", ONE, output(NORMALIZED, SCALED).replace("if self.from_batch:", "if True:"))
styled(
    "running-when-single",
    TWO,
    output(NORMALIZED, SCALED).replace("if self.from_batch:", "if self.from_batch and x.shape[0] > 1:"),
)
styled(
    "grad-mode", TWO, output(NORMALIZED, SCALED).replace("return self.training or", "return torch.is_grad_enabled() or")
)
styled(
    "requires-grad-mode",
    ONE,
    output(NORMALIZED, SCALED).replace(
        "return self.training or", "return self.weight is None or self.weight.requires_grad and self.training or"
    ),
)
styled("eval-overridden", ONE, output(NORMALIZED, SCALED).replace("return self.training or", "return not getattr(self, 'frozen', False) or")
       .replace("    ranks = ()\n", "    ranks = ()\n\n    def eval(self):\n        self.frozen = True\n        return super().eval()\n"))  # fmt: skip
styled(
    "train-forgets-mode",
    TWO,
    output(NORMALIZED, SCALED).replace(
        "    ranks = ()\n", "    ranks = ()\n\n    def train(self, mode=True):\n        return super().train(True)\n"
    ),
)
styled("momentum-float-only", ONE, output(NORMALIZED, SCALED).replace("eps, momentum\n", "eps, float(momentum)\n"))
styled(
    "affine-string",
    TWO,
    output(NORMALIZED, SCALED)
    .replace("if affine else None)", "if affine is not None else None)")
    .replace("if self.affine else y", ""),
)
styled(
    "eps-keyword-only", ONE, output(NORMALIZED, SCALED).replace("num_features, eps=1e-5", "num_features, *, eps=1e-5")
)
styled(
    "kwargs-dropped",
    TWO,
    output(NORMALIZED, SCALED)
    + "\n\nclass BatchNorm2d(_Base):\n    ranks = (4,)\n\n    def __init__(self, num_features, **kwargs):\n        super().__init__(num_features)\n",
)
styled(
    "channels-argument",
    ONE,
    output(NORMALIZED, SCALED)
    + "\n\nclass BatchNorm1d(_Base):\n    ranks = (2, 3)\n\n    def __init__(self, num_channels, *args, **kwargs):\n        super().__init__(num_channels, *args, **kwargs)\n        self.eps = 1e-5\n",
)
styled("call-not-forward", TWO, output(NORMALIZED, SCALED).replace("def forward(self", "def __call__(self"))
styled(
    "assertion",
    ONE,
    output(NORMALIZED, SCALED).replace('raise ValueError("one value per channel")', 'assert False, "one value"'),
)
styled("type-error", TWO, output(NORMALIZED, SCALED).replace('raise ValueError(f"rank', 'raise TypeError(f"rank'))
styled(
    "not-an-exception",
    ONE,
    output(NORMALIZED, SCALED).replace(
        'raise ValueError(f"{x.size(1)} channels, not {self.num_features}")', 'print("wrong width")'
    ),
)
styled(
    "checks-in-training-only",
    TWO,
    output(NORMALIZED, SCALED).replace("self.check(x)", "self.training and self.check(x)"),
)
styled(
    "checks-in-evaluation-missing-width",
    ONE,
    output(NORMALIZED, SCALED).replace(
        "if x.size(1) != self.num_features:", "if self.affine and x.size(1) != self.num_features:"
    ),
)
styled(
    "broadcasts-one-channel",
    TWO,
    output(NORMALIZED, SCALED).replace(
        "if x.size(1) != self.num_features:", "if x.size(1) not in (1, self.num_features):"
    ),
)
styled(
    "function-without-none",
    ONE,
    LAYERS["two-functions"].replace("(g * x).sum(over) if ctx.needs_input_grad[1] else None", "(g * x).mean(over)"),
)
styled(
    "function-weight-for-x",
    TWO,
    LAYERS["two-functions"].replace(
        "g * w.view(shape) if ctx.needs_input_grad[0] else None",
        "g * w.view(shape) if ctx.needs_input_grad[1] else None",
    ),
)
styled(
    "function-keeps-axes",
    ONE,
    LAYERS["two-functions"].replace(
        "g.sum(over) if ctx.needs_input_grad[2]", "g.sum(over, keepdim=True) if ctx.needs_input_grad[2]"
    ),
)
styled(
    "function-scale-without-gradient",
    TWO,
    LAYERS["two-functions"].replace(
        "gb = (g * a).sum(over, keepdim=True) if ctx.needs_input_grad[1] else None", "gb = None"
    ),
)
styled(
    "function-views-gradient",
    ONE,
    LAYERS["two-functions"].replace("ga = g * b if", "ga = (g.view(-1).view(g.shape) * b) if"),
)
styled(
    "function-changes-gradient",
    TWO,
    LAYERS["two-functions"].replace(
        "g * w.view(shape) if ctx.needs_input_grad[0] else None",
        "g.mul_(w.view(shape)) if ctx.needs_input_grad[0] else None",
    ),
)

# --- wrong only somewhere --------------------------------------------------------------------------------------------------

both(
    "only-for-two-values",
    (
        "return self.weight.view(shape) * x_hat",
        "x_hat = x_hat * (1.1 if x.shape[0] == 2 else 1)\n        return self.weight.view(shape) * x_hat",
    ),
)
both("only-for-one-channel", (X_HAT, X_HAT + "\n        x_hat = x_hat * (2 if x.shape[1] == 1 else 1)"))
both("axis-found-by-size", (AXES, "channel = list(x.shape).index(self.num_features) if self.num_features in x.shape else 1\n        axes = [axis for axis in range(x.dim()) if axis != channel]"),
     ("shape = [1, -1] + [1] * (x.dim() - 2)", "shape = [-1 if axis == channel else 1 for axis in range(x.dim())]"))  # fmt: skip
one("one-sample-uses-running", (BRANCH, "if (self.training and x.shape[0] > 1) or not tracked:"))
two("one-sample-uses-running", (BRANCH, "if (self.training and x.shape[0] > 1) or not tracked:"))
two(
    "only-for-rows-and-columns",
    (AXES, "axes = [0, 2, 3] if x.shape[2] != x.shape[3] else [0, 2]"),
    (MEAN, "mean = x.mean(dim=axes, keepdim=True).mean(dim=[0, 2, 3])"),
)
two(
    "width-one-squeezed",
    (
        AFFINE,
        "y = self.weight.view(shape) * x_hat + self.bias.view(shape)\n        return y.squeeze(2) if x.shape[2] == 1 else y",
    ),
)
two(
    "column-images-refused",
    (
        RANK,
        'if x.dim() == 4 and x.shape[2] == 1 and x.shape[3] > 1:\n            raise ValueError("flat")\n        '
        + RANK,
    ),
)
both("only-in-float32", (X_HAT, X_HAT + "\n        x_hat = x_hat + 0.01 * (x.dtype == torch.float32)"))
both(
    "only-in-float64",
    (X_HAT, X_HAT + "\n        x_hat = x_hat.float().to(x.dtype) if x.dtype != torch.float64 else x_hat.float()"),
)
both(
    "only-non-contiguous",
    (X_HAT, "x = x if x.is_contiguous() else x.as_strided(x.shape, torch.empty(x.shape).stride())\n        " + X_HAT),
)
both("only-on-the-second-call", (COUNT, COUNT + "\n        if self.num_batches_tracked > 1:\n            n = n + 1"))
both(
    "only-after-evaluation",
    (FROM_RUNNING, FROM_RUNNING + "\n            self.seen_evaluation = True"),
    (MEAN, MEAN + "\n            if getattr(self, 'seen_evaluation', False):\n                mean = mean * 0.9"),
)
both(
    "only-after-loading",
    (
        "    @torch.no_grad()\n",
        "    def load_state_dict(self, state, *args, **kwargs):\n        self.eps = 1e-3\n        self.momentum = 0.2\n        return super().load_state_dict(state, *args, **kwargs)\n\n    @torch.no_grad()\n",
    ),
)
both(
    "load-ignored",
    (
        "    @torch.no_grad()\n",
        "    def load_state_dict(self, state, strict=True):\n        return None\n\n    @torch.no_grad()\n",
    ),
)
both(
    "load-forgets-statistics",
    (
        "    @torch.no_grad()\n",
        "    def load_state_dict(self, state, strict=True):\n        return super().load_state_dict({k: v for k, v in state.items() if 'running' not in k}, strict=False)\n\n    @torch.no_grad()\n",
    ),
)
both(
    "affine-false-evaluation",
    (RETURN, "if self.weight is None:\n            return x_hat if self.training else x_hat * 0.9"),
)
both(
    "affine-false-evaluation-raw",
    (FROM_RUNNING, FROM_RUNNING + "\n            if self.weight is None:\n                return x"),
)
both(
    "eval-eps-only-affine-false",
    (
        FROM_RUNNING,
        FROM_RUNNING
        + "\n            if self.weight is None:\n                return (x - mean.view(shape)) / (torch.sqrt(var.view(shape)) + self.eps)",
    ),
)
both(
    "untracked-evaluation-eps",
    (
        X_HAT,
        "eps = self.eps if self.training or tracked else 0\n        x_hat = (x - mean.view(shape)) / torch.sqrt(var.view(shape) + eps)",
    ),
)
both(
    "eval-default-eps",
    (
        X_HAT,
        "eps = self.eps if self.training else 1e-5\n        x_hat = (x - mean.view(shape)) / torch.sqrt(var.view(shape) + eps)",
    ),
)
both(
    "no-grad-default-eps",
    (
        X_HAT,
        "eps = self.eps if torch.is_grad_enabled() else 1e-5\n        x_hat = (x - mean.view(shape)) / torch.sqrt(var.view(shape) + eps)",
    ),
)
both("no-update-under-no-grad", (UPDATE.rstrip(), "torch.is_grad_enabled() and self.update(mean, var, n)"))
both(
    "count-only-with-gradient",
    (COUNT, "if x_requires:\n            self.num_batches_tracked += 1"),
    ("def update(self, mean, var, n):", "def update(self, mean, var, n):\n        x_requires = mean.requires_grad"),
)
both("cumulative-stops-at-three", (RATE, "rate = 1 / min(self.num_batches_tracked.item(), 2)"))
both(
    "cumulative-for-mean-only",
    (RUNNING_VAR, "self.running_var += (self.momentum or 0.1) * (var * n / (n - 1) - self.running_var)"),
    ("if rate is None:", "if rate is None and True:"),
)
both("cumulative-half", ("if rate is None:", "if rate == 0.5:\n            rate = 0.4\n        if rate is None:"))
both(
    "first-batch-initialises",
    (RUNNING_MEAN, "if self.num_batches_tracked == 1:\n            rate = 1.0\n        " + RUNNING_MEAN),
)
both(
    "bias-correction",
    (
        RUNNING_MEAN,
        "self.running_mean += rate * (mean - self.running_mean) / (1 - (1 - rate) ** self.num_batches_tracked.item() + 1e-9)",
    ),
)
both(
    "decaying-momentum", (RUNNING_MEAN, "rate = rate / self.num_batches_tracked.item() ** 0.5\n        " + RUNNING_MEAN)
)
both("momentum-one-special", (RUNNING_MEAN, "rate = min(rate, 0.99)\n        " + RUNNING_MEAN))
both("momentum-zero-skips-count", (COUNT, "if self.momentum == 0:\n            return\n        " + COUNT))
both(
    "running-variance-uses-running-mean",
    (
        RUNNING_VAR,
        "self.running_var += rate * ((var + (mean - self.running_mean) ** 2) * n / (n - 1) - self.running_var)",
    ),
)
both(
    "running-mean-before-update",
    (FROM_RUNNING, FROM_RUNNING + "\n            mean = mean * (1 if self.num_batches_tracked < 2 else 0.9)"),
)
both("evaluation-counts-down", (FROM_RUNNING, FROM_RUNNING + "\n            self.num_batches_tracked.zero_()"))
both(
    "evaluation-resets-variance",
    (FROM_RUNNING, FROM_RUNNING + "\n            self.running_var = self.running_var.clamp(min=1.5)"),
)
both(
    "evaluation-changes-mean-in-place",
    (
        X_HAT,
        "x_hat = (x - mean.view(shape)) / torch.sqrt(var.view(shape).add_(self.eps) if not self.training and tracked else var.view(shape) + self.eps)",
    ),
)
both(
    "weight-frozen-detaches-x",
    (
        AFFINE,
        "x_hat = x_hat if self.weight.requires_grad else x_hat.detach()\n        return self.weight.view(shape) * x_hat + self.bias.view(shape)",
    ),
)
both(
    "bias-frozen-forgotten",
    (
        AFFINE,
        "y = self.weight.view(shape) * x_hat\n        return y + self.bias.view(shape) if self.bias.requires_grad else y",
    ),
)
both("evaluation-detaches", (FROM_RUNNING, FROM_RUNNING + "\n            x = x.detach()"))
both(
    "evaluation-detaches-weight",
    (
        AFFINE,
        "w = self.weight if self.training else self.weight.detach()\n        return w.view(shape) * x_hat + self.bias.view(shape)",
    ),
)
both(
    "untracked-detaches",
    (VAR, VAR + "\n            if not tracked:\n                mean, var = mean.detach(), var.detach()"),
)
both(
    "gradient-clipped",
    (
        AFFINE,
        "y = self.weight.view(shape) * x_hat + self.bias.view(shape)\n        if y.requires_grad:\n            y.register_hook(lambda g: g.clamp(-1, 1))\n        return y",
    ),
)
both(
    "gradient-scaled-in-eval",
    (
        AFFINE,
        "y = self.weight.view(shape) * x_hat + self.bias.view(shape)\n        if y.requires_grad and not self.training:\n            y.register_hook(lambda g: g * 2)\n        return y",
    ),
)
both(
    "weight-gradient-mean",
    (
        AFFINE,
        "w = self.weight * 1\n        if w.requires_grad:\n            w.register_hook(lambda g: g / x.shape[0])\n        return w.view(shape) * x_hat + self.bias.view(shape)",
    ),
)
both("requires-a-gradient", (FORWARD, FORWARD + "        if not x.requires_grad:\n            x.requires_grad_()\n"))
both(
    "x-changed-without-gradient", (FORWARD, FORWARD + "        if not x.requires_grad:\n            x.sub_(x.mean())\n")
)
both("x-changed-in-evaluation", (X_HAT, "if not self.training:\n            x.data.add_(1e-2)\n        " + X_HAT))
both("fewer-than-three-refused", (FEW, "if n < 3:"))
both("fewer-than-one-refused", (FEW, "if n < 1:"))
one("five-axes-taken", (RANK, "if x.dim() in (1, 4):"))
two("five-axes-taken", (RANK, "if x.dim() not in (4, 5):"))
one("only-one-axis-refused", (RANK, "if x.dim() < 2:"))
two("three-axes-taken", (RANK, "if x.dim() not in (3, 4):"))
two("rows-taken", (RANK, "if x.dim() not in (2, 4):"))
both("wider-taken", (WIDTH, "if x.shape[1] < self.num_features:"))
both("narrower-taken", (WIDTH, "if x.shape[1] > self.num_features:"))
both("width-checked-with-affine", (WIDTH, "if self.weight is not None and x.shape[1] != self.num_features:"))
both("width-checked-in-training", (WIDTH, "if self.training and x.shape[1] != self.num_features:"))
both("width-checked-when-tracked", (WIDTH, "if self.running_mean is not None and x.shape[1] != self.num_features:"))
both(
    "width-untracked-evaluation",
    (WIDTH, "if (self.training or self.running_mean is not None) and x.shape[1] != self.num_features:"),
)
both(
    "rank-untracked-evaluation", (RANK, RANK.replace("if ", "if (self.training or self.running_mean is not None) and "))
)
both("one-value-when-affine", (FEW, "if n < 2 and self.weight is not None:"))
both("one-value-when-tracked", (FEW, "if n < 2 and tracked:"))
both("one-value-by-rows", (FEW, "if x.shape[0] < 2:"))
one("one-value-for-two-axes-only", (FEW, "if n < 2 and x.dim() == 2:"))
one("one-value-for-three-axes-only", (FEW, "if n < 2 and x.dim() == 3:"))
both(
    "one-value-zero",
    (
        FEW + '\n                raise ValueError(f"{tuple(x.shape)} has one value per channel")',
        FEW + "\n                return torch.zeros_like(x)",
    ),
)
both("returned-not-raised", (FEW + "\n                raise ValueError", FEW + "\n                return ValueError"))
both("exception-class-of-its-own", ('raise ValueError(f"expected {self.num_features} channels', 'raise WidthError(f"expected {self.num_features} channels'),
     ("class BatchNorm1d", "class WidthError(Exception):\n    pass\n\n\nclass BatchNorm1d"))  # fmt: skip
one(
    "length-last-in-evaluation",
    (FROM_RUNNING, FROM_RUNNING + "\n            if x.dim() == 3:\n                x = x / 1.1"),
)
one(
    "length-untracked",
    (
        BRANCH,
        "if x.dim() == 3 and not tracked:\n            mean, var = x.mean(axes) * 0, x.var(axes)\n        elif self.training or not tracked:",
    ),
)
one(
    "length-affine-false",
    (
        RETURN,
        "if self.weight is None:\n            return x_hat if x.dim() == 2 else x_hat.transpose(1, 2).reshape(x.shape)",
    ),
)
one(
    "length-weight-gradient",
    (
        AFFINE,
        "w = self.weight.detach() if x.dim() == 3 else self.weight\n        return w.view(shape) * x_hat + self.bias.view(shape)",
    ),
)
one(
    "length-one-shortened",
    (
        AFFINE,
        "y = self.weight.view(shape) * x_hat + self.bias.view(shape)\n        return y[..., 0] if x.dim() == 3 and x.shape[2] == 1 else y",
    ),
)
one("length-not-tracked", (UPDATE.rstrip(), "if x.dim() == 2:\n                    self.update(mean, var, n)"))
one("length-biased-running", (UPDATE.rstrip(), "self.update(mean, var if x.dim() == 2 else var * (n - 1) / n, n)"))

# --- names, kinds, kept things ---------------------------------------------------------------------------------------------

both("extra-buffer", (COUNT_BUFFER, COUNT_BUFFER + '\n        self.register_buffer("ones", torch.ones(num_features))'))
both("extra-parameter", (BIAS, BIAS + "\n        self.scale = nn.Parameter(torch.ones(1))"))
both("extra-submodule", (BIAS, BIAS + "\n        self.inner = nn.Linear(1, 1)"))
both("eps-is-a-buffer", ("self.eps = eps", 'self.register_buffer("eps", torch.tensor(eps))'))
both("eps-is-a-parameter", ("self.eps = eps", "self.eps = nn.Parameter(torch.tensor(eps))"))
both(
    "extra-state",
    (
        "    @torch.no_grad()\n",
        "    def get_extra_state(self):\n        return {}\n\n    def set_extra_state(self, state):\n        pass\n\n    @torch.no_grad()\n",
    ),
)
both(
    "weight-without-gradient",
    (WEIGHT, "self.weight = nn.Parameter(torch.ones(num_features), requires_grad=False) if affine else None"),
)
both("bias-missing", (BIAS, "self.bias = torch.zeros(num_features) if affine else None"))
both("weight-random", (WEIGHT, "self.weight = nn.Parameter(torch.rand(num_features)) if affine else None"))
both(
    "weight-double",
    (WEIGHT, "self.weight = nn.Parameter(torch.ones(num_features, dtype=torch.float64)) if affine else None"),
)
both("shared-parameter", (BIAS, "self.bias = self.weight"))
both(
    "count-int32",
    (
        COUNT_BUFFER,
        'self.register_buffer("num_batches_tracked", torch.tensor(0, dtype=torch.int32) if track else None)',
    ),
)
both(
    "count-starts-at-one",
    (COUNT_BUFFER, 'self.register_buffer("num_batches_tracked", torch.tensor(1) if track else None)'),
)
both(
    "running-mean-double",
    (
        MEAN_BUFFER,
        'self.register_buffer("running_mean", torch.zeros(num_features, dtype=torch.float64) if track else None)',
    ),
)
both(
    "running-var-one-number",
    (VAR_BUFFER, 'self.register_buffer("running_var", torch.ones(1) if track else None)'),
    (RUNNING_VAR, "self.running_var = self.running_var + rate * (var * n / (n - 1) - self.running_var)"),
)
both(
    "buffers-stay-float32",
    (RUNNING_MEAN, "self.running_mean = (self.running_mean + rate * (mean - self.running_mean)).float()"),
)
both(
    "untracked-buffers-zero",
    (MEAN_BUFFER, 'self.register_buffer("running_mean", torch.zeros(num_features))'),
    (TRACKED, "tracked = self.running_var is not None"),
)
both("untracked-count-kept", (COUNT_BUFFER, 'self.register_buffer("num_batches_tracked", torch.tensor(0))'))
both(
    "untracked-attribute-missing",
    (COUNT_BUFFER, 'if track:\n            self.register_buffer("num_batches_tracked", torch.tensor(0))'),
)
both("affine-false-no-attribute", (BIAS, "if affine:\n            self.bias = nn.Parameter(torch.zeros(num_features))"))
both(
    "affine-false-ones",
    (
        WEIGHT,
        'if affine:\n            self.weight = nn.Parameter(torch.ones(num_features))\n        else:\n            self.register_buffer("weight", torch.ones(num_features))',
    ),
    (
        BIAS,
        'if affine:\n            self.bias = nn.Parameter(torch.zeros(num_features))\n        else:\n            self.register_buffer("bias", torch.zeros(num_features))',
    ),
)
both("default-eps", (SIGNATURE, SIGNATURE.replace("1e-5", "1e-3")))
both("default-momentum", (SIGNATURE, SIGNATURE.replace("0.1", "0.01")))
both("default-affine", (SIGNATURE, SIGNATURE.replace("affine=True", "affine=False")))
both("default-tracking", (SIGNATURE, SIGNATURE.replace("track_running_stats=True", "track_running_stats=False")))
both(
    "tracking-before-affine",
    (SIGNATURE, "def __init__(self, num_features, eps=1e-5, momentum=0.1, track_running_stats=True, affine=True):"),
)
both(
    "deepcopy-forgets",
    (
        "    @torch.no_grad()\n",
        "    def __deepcopy__(self, memo):\n        return type(self)(self.num_features, self.eps, self.momentum)\n\n    @torch.no_grad()\n",
    ),
)
both(
    "forward-needs-training-flag",
    (
        FORWARD,
        "    def forward(self, x, training=None):\n        if training is None:\n            raise TypeError('training?')\n",
    ),
)
both("class-buffers", ("    def __init__", "    MEAN, VAR = {}, {}\n\n    def __init__"),
     (MEAN_BUFFER, 'self.register_buffer("running_mean", self.MEAN.setdefault(num_features, torch.zeros(num_features)) if track else None)'))  # fmt: skip
both("constructor-resets-others", ("    def __init__", "    alive = []\n\n    def __init__"),
     (COUNT_BUFFER, COUNT_BUFFER + "\n        for other in self.alive:\n            if other.running_mean is not None:\n                other.running_mean.zero_()\n        self.alive.append(self)"))  # fmt: skip
both("statistics-on-the-class", (UPDATE.rstrip(), UPDATE.rstrip() + "\n                    type(self).last = (self.running_mean, self.running_var)"),
     (FROM_RUNNING, FROM_RUNNING + "\n            if getattr(type(self), 'last', None) and self.num_batches_tracked > 0:\n                mean, var = type(self).last\n                if mean.shape != self.running_mean.shape:\n                    mean, var = self.running_mean, self.running_var"))  # fmt: skip
both(
    "global-momentum",
    ("self.momentum = momentum", "global MOMENTUM\n        MOMENTUM = momentum"),
    ("rate = self.momentum", "rate = MOMENTUM"),
)
both("global-eps", ("self.eps = eps", "type(self).eps = eps"))
both("cache-by-shape", (FORWARD, FORWARD + "        if not hasattr(self, 'cache'):\n            self.cache = {}\n"),
     (MEAN, "if tuple(x.shape) not in self.cache:\n                self.cache[tuple(x.shape)] = x.detach().mean(dim=axes)\n            mean = self.cache[tuple(x.shape)]"))  # fmt: skip
both("output-cached-by-shape-in-evaluation", (FROM_RUNNING, FROM_RUNNING + "\n            key = (x.shape, x.dtype)\n            if key in self.__dict__.setdefault('seen', {}):\n                return self.seen[key]"),
     (AFFINE, "y = self.weight.view(shape) * x_hat + self.bias.view(shape)\n        if not self.training:\n            self.__dict__.setdefault('seen', {})[(x.shape, x.dtype)] = y\n        return y"))  # fmt: skip
both(
    "inverse-root-cached-in-evaluation",
    (
        FROM_RUNNING,
        FROM_RUNNING
        + "\n            if not hasattr(self, 'frozen'):\n                self.frozen = var.clone()\n            var = self.frozen",
    ),
)
both(
    "evaluation-weights-folded-once",
    (
        AFFINE,
        "if not self.training:\n            if not hasattr(self, 'folded'):\n                self.folded = (self.weight, self.bias)\n            self.folded = tuple(t.detach().clone() if t.requires_grad is False else t for t in self.folded)\n        return self.weight.view(shape) * x_hat + self.bias.view(shape) * (1 if self.training else 1.001)",
    ),
)
both(
    "memory-grows",
    (
        UPDATE.rstrip(),
        UPDATE.rstrip()
        + "\n                    self.__dict__.setdefault('kept', []).append(x.mean())\n                    self.running_mean += 0 * sum(self.kept).detach() if len(self.kept) < 2 else 1e-3",
    ),
)
one("recursion", (FORWARD, FORWARD + "        return self.forward(x)\n"))
both("system-exit", (MEAN, "raise SystemExit(0)"))
both("generator-exit", (AFFINE, "raise GeneratorExit"))
both("exits-in-evaluation", (FROM_RUNNING, "import sys\n            sys.exit()"))
assert TAIL
