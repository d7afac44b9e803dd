"""Honest layers in many styles; each text defines BatchNorm1d and BatchNorm2d. Not solutions to learn from: many are odd on purpose."""

# ruff: noqa: E501 - sources in one line each

from __future__ import annotations

from solutions.lab01_batch_norm.plain import as_2d

# The head of most texts below: what is asked for before the style begins.
HEAD = """\
import torch
from torch import nn


class _Base(nn.Module):
    ranks = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.register_parameter("weight", nn.Parameter(torch.ones(num_features)) if affine else None)
        self.register_parameter("bias", nn.Parameter(torch.zeros(num_features)) if affine else None)
        self.register_buffer("running_mean", torch.zeros(num_features) if track_running_stats else None)
        self.register_buffer("running_var", torch.ones(num_features) if track_running_stats else None)
        count = torch.zeros((), dtype=torch.long) if track_running_stats else None
        self.register_buffer("num_batches_tracked", count)

    def check(self, x):
        if x.ndim not in self.ranks:
            raise ValueError(f"rank {x.ndim} is not one of {self.ranks}")
        if x.size(1) != self.num_features:
            raise ValueError(f"{x.size(1)} channels, not {self.num_features}")
        if self.from_batch and x.numel() == x.size(1):
            raise ValueError("one value per channel")

    @property
    def from_batch(self):
        return self.training or self.running_mean is None

    def remember(self, mean, var, m):
        if self.training and self.running_mean is not None:
            with torch.no_grad():
                self.num_batches_tracked.add_(1)
                share = 1.0 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
                self.running_mean.mul_(1 - share).add_(mean.detach(), alpha=share)
                self.running_var.mul_(1 - share).add_(var.detach() * (m / (m - 1)), alpha=share)

"""
TAIL = """

class BatchNorm1d(_Base):
    ranks = (2, 3)


class BatchNorm2d(_Base):
    ranks = (4,)
"""


def forward(body: str, before: str = "") -> str:
    """A text whose forward method is `body` (8 blanks in front of each line), with `before` above the classes."""
    return before + HEAD + "    def forward(self, x):\n        self.check(x)\n" + body + TAIL


# Statistics in many ways: each body sets mean and var (C,) of `rows` (m, C), with gradients.
_ROWS = """\
        moved = x.movedim(1, -1)
        rows = moved.reshape(-1, self.num_features)
        m = rows.shape[0]
        if self.from_batch:
            {statistics}
            self.remember(mean, var, m)
        else:
            mean, var = self.running_mean, self.running_var
        y = (rows - mean) * (var + self.eps).rsqrt()
        if self.affine:
            y = y * self.weight + self.bias
        return y.reshape(moved.shape).movedim(-1, 1)
"""


def statistics(*lines: str, before: str = "") -> str:
    """A text that differs in how it computes mean and var from rows."""
    return forward(_ROWS.format(statistics="\n            ".join(lines)), before)


def output(*lines: str, before: str = "") -> str:
    """A text that differs in how it goes from x, mean and var (as (1, C, 1, ...)) to the result."""
    return forward(
        """\
        axes = [a for a in range(x.ndim) if a != 1]
        shape = [1, -1] + [1] * (x.ndim - 2)
        if self.from_batch:
            var, mean = torch.var_mean(x, dim=axes, correction=0)
            self.remember(mean, var, x.numel() / x.shape[1])
        else:
            mean, var = self.running_mean, self.running_var
        """
        + "\n        ".join(lines)
        + "\n",
        before,
    )


def update(*lines: str, before: str = "") -> str:
    """A text that differs in how it keeps the running statistics."""
    method = "    def remember(self, mean, var, m):\n        " + "\n        ".join(lines) + "\n"
    body = output(
        "y = (x - mean.view(shape)) / torch.sqrt(var.view(shape) + self.eps)",
        "return y if self.weight is None else y * self.weight.view(shape) + self.bias.view(shape)",
    )
    start = body.index("    def remember")
    end = body.index("    def forward")
    return before + body[:start] + method + "\n" + body[end:]


TRACKS = ("if not self.training or self.running_mean is None:", "    return")

LAYERS: dict[str, str] = {
    "matmul-with-ones": statistics(
        "ones = rows.new_ones(1, m)", "mean = (ones @ rows / m)[0]", "var = (ones @ (rows - mean) ** 2 / m)[0]"
    ),
    "pairwise-differences": statistics(
        "mean = rows.mean(0)",
        "pairs = rows.unsqueeze(0) - rows.unsqueeze(1)",
        "var = (pairs * pairs).sum((0, 1)) / (2 * m * m)",
    ),
    "covariance-diagonal": statistics(
        "mean = rows.mean(0)", "var = torch.atleast_2d(torch.cov(rows.T, correction=0)).diagonal()"
    ),
    "kahan": statistics(
        "def total(values):",
        "    s, c = torch.zeros_like(values[0]), torch.zeros_like(values[0])",
        "    for v in values:",
        "        y = v - c",
        "        t = s + y",
        "        c = (t - s) - y",
        "        s = t",
        "    return s",
        "mean = total(rows) / m",
        "var = total((rows - mean) ** 2) / m",
    ),
    "chunked": statistics(
        "mean = sum(part.sum(0) for part in rows.split(3)) / m",
        "var = sum(((part - mean) ** 2).sum(0) for part in rows.split(3)) / m",
    ),
    "merged-halves": statistics(
        "def merge(r):",
        "    if len(r) == 1:",
        "        return 1, r[0], torch.zeros_like(r[0])",
        "    (na, ma, sa), (nb, mb, sb) = merge(r[: len(r) // 2]), merge(r[len(r) // 2 :])",
        "    n, d = na + nb, mb - ma",
        "    return n, ma + d * nb / n, sa + sb + d * d * na * nb / n",
        "_, mean, squares = merge(rows)",
        "var = squares / m",
    ),
    "unbind-and-stack": statistics(
        "columns = rows.unbind(1)",
        "mean = torch.stack([c.mean() for c in columns])",
        "var = torch.stack([c.var(unbiased=False) for c in columns])",
    ),
    "index-add": statistics(
        "where = torch.arange(self.num_features, device=x.device).repeat(m)",
        "flat = rows.reshape(-1)",
        "mean = rows.new_zeros(self.num_features).index_add(0, where, flat) / m",
        "var = rows.new_zeros(self.num_features).index_add(0, where, (flat - mean[where]) ** 2) / m",
    ),
    "vmap-over-channels": statistics(
        "f = lambda column: ((column - column.mean()).square().mean(), column.mean())",
        "var, mean = torch.vmap(f, in_dims=1)(rows)",
    ),
    "shifted-one-pass": statistics(  # honest: the shift keeps the digits
        "k = rows[0].detach()",
        "d = rows - k",
        "mean = k + d.mean(0)",
        "var = ((d * d).sum(0) - d.sum(0) ** 2 / m) / m",
    ),
    "unbiased-times-factor": statistics(
        "mean, var = rows.mean(0), rows.var(0) * (m - 1) / m"  # Bessel taken back
    ),
    "norm-of-the-differences": statistics(
        "mean = torch.einsum('mc->c', rows) / m",
        "d = rows - mean",
        "var = torch.einsum('mc,mc->c', d, d).div(m)",
    ),
    "float64-inside": forward(
        """\
        axes = [a for a in range(x.ndim) if a != 1]
        shape = [1, -1] + [1] * (x.ndim - 2)
        z = x.double()
        if self.from_batch:
            mean, var = z.mean(axes), z.var(axes, unbiased=False)
            self.remember(mean.to(x.dtype), var.to(x.dtype), x.numel() // x.shape[1])
        else:
            mean, var = self.running_mean.double(), self.running_var.double()
        z = (z - mean.view(shape)) / (var.view(shape) + self.eps) ** 0.5
        if self.affine:
            z = z * self.weight.double().view(shape) + self.bias.double().view(shape)
        return z.to(x.dtype)
"""
    ),
    "addcmul": output(
        "scale = torch.pow(var + self.eps, -0.5)",
        "y = (x - mean.view(shape)) * scale.view(shape)",
        "return torch.addcmul(self.bias.view(shape), self.weight.view(shape), y) if self.affine else y",
    ),
    "exp-of-log": output(
        "y = (x - mean.view(shape)) * torch.exp(-0.5 * torch.log(var.view(shape) + self.eps))",
        "if self.affine:",
        "    y = torch.add(torch.mul(y, self.weight.view(shape)), self.bias.view(shape))",
        "return y",
    ),
    "depthwise-convolution": output(
        "y = (x - mean.view(shape)) / (var.view(shape) + self.eps).sqrt()",
        "if not self.affine:",
        "    return y",
        "flat = y.reshape(y.shape[0], y.shape[1], -1)",
        "kernel = self.weight.view(-1, 1, 1)",
        "return F.conv1d(flat, kernel, self.bias, groups=self.num_features).reshape(x.shape)",
        before="import torch.nn.functional as F\n",
    ),
    "diagonal-linear": output(
        "y = (x - mean.view(shape)).div((var.view(shape) + self.eps).sqrt())",
        "if self.weight is None:",
        "    return y",
        "return F.linear(y.transpose(1, -1), torch.diag(self.weight), self.bias).transpose(1, -1)",
        before="from torch.nn import functional as F\n",
    ),
    "checkpointed": output(
        "def f(x, mean, var):",
        "    return (x - mean.view(shape)) / (var.view(shape) + self.eps).sqrt()",
        "y = checkpoint(f, x, mean, var, use_reentrant=False)",
        "return y * self.weight.view(shape) + self.bias.view(shape) if self.affine else y",
        before="from torch.utils.checkpoint import checkpoint\n",
    ),
    "expanded-like-x": output(
        "full = lambda t: t.view(shape).expand_as(x)",
        "y = x.sub(full(mean)).div(full(var).add(self.eps).sqrt())",
        "return y.mul(full(self.weight)).add(full(self.bias)) if self.affine else y",
    ),
    "indexing-with-none": output(
        "up = (None, slice(None)) + (None,) * (x.ndim - 2)",
        "y = (x - mean[up]) / (var[up] + self.eps).sqrt()",
        "return y * self.weight[up] + self.bias[up] if self.affine else y",
    ),
    "in-place-on-a-clone": output(
        "y = x.clone().sub_(mean.view(shape)).div_((var.view(shape) + self.eps).sqrt())",
        "if self.affine:",
        "    y = y.mul_(self.weight.view(shape)).add_(self.bias.view(shape))",
        "return y",
    ),
    "einsum-affine": output(
        "y = (x - mean.view(shape)) / (var.view(shape) + self.eps).sqrt()",
        "return torch.einsum('nc...,c->nc...', y, self.weight) + self.bias.view(shape) if self.affine else y",
    ),
    "no-autocast": output(
        "with torch.autocast('cpu', enabled=False):",
        "    y = (x - mean.view(shape)) / (var.view(shape) + self.eps).sqrt()",
        "    if self.affine:",
        "        y = y * self.weight.view(shape) + self.bias.view(shape)",
        "return y",
    ),
    "two-functions": output(
        "y = _Scale.apply(x - mean.view(shape), (var.view(shape) + self.eps).rsqrt())",
        "return _Affine.apply(y, self.weight, self.bias) if self.affine else y",
        before="""\
import torch


class _Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        over = [i for i in range(g.ndim) if i != 1]
        ga = g * b if ctx.needs_input_grad[0] else None
        gb = (g * a).sum(over, keepdim=True) if ctx.needs_input_grad[1] else None
        return ga, gb


class _Affine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        shape = [1, -1] + [1] * (x.ndim - 2)
        return x * w.view(shape) + b.view(shape)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        over = [i for i in range(g.ndim) if i != 1]
        shape = [1, -1] + [1] * (x.ndim - 2)
        return (
            g * w.view(shape) if ctx.needs_input_grad[0] else None,
            (g * x).sum(over) if ctx.needs_input_grad[1] else None,
            g.sum(over) if ctx.needs_input_grad[2] else None,
        )


""",
    ),
    "update-by-data": update(
        *TRACKS,
        "self.num_batches_tracked.data += 1",
        "a = self.momentum if self.momentum is not None else 1 / self.num_batches_tracked.item()",
        "self.running_mean.data = (1 - a) * self.running_mean.data + a * mean.data",
        "self.running_var.data = (1 - a) * self.running_var.data + a * var.data * m / (m - 1)",
    ),
    "update-by-lerp": update(
        *TRACKS,
        "self.num_batches_tracked = self.num_batches_tracked + 1",
        "a = 1 / int(self.num_batches_tracked) if self.momentum is None else self.momentum",
        "self.running_mean = self.running_mean.lerp(mean.detach(), a)",
        "self.running_var = torch.lerp(self.running_var, var.detach() * m / (m - 1), a)",
    ),
    "update-by-foreach": update(
        *TRACKS,
        "with torch.no_grad():",
        "    self.num_batches_tracked += 1",
        "    a = 1 / self.num_batches_tracked.item() if self.momentum is None else self.momentum",
        "    torch._foreach_lerp_([self.running_mean, self.running_var], [mean, var * (m / (m - 1))], a)",
    ),
    "update-by-copy": update(
        *TRACKS,
        "with torch.no_grad():",
        "    self.num_batches_tracked.copy_(self.num_batches_tracked + 1)",
        "    a = self.num_batches_tracked.item() ** -1 if self.momentum is None else self.momentum",
        "    for name, new in {'running_mean': mean, 'running_var': var * m / (m - 1)}.items():",
        "        old = getattr(self, name)",
        "        old.copy_((1 - a) * old + a * new)",
    ),
    "update-by-setattr": update(
        *TRACKS,
        "setattr(self, 'num_batches_tracked', torch.add(self.num_batches_tracked, 1))",
        "a = Fraction(1, self.num_batches_tracked.item()) if self.momentum is None else self.momentum",
        "for name, new in (('running_mean', mean), ('running_var', var * (m / (m - 1)))):",
        "    old = getattr(self, name)",
        "    setattr(self, name, (old + float(a) * (new - old)).detach())",
        before="from fractions import Fraction\n",
    ),
    "update-in-numpy": update(
        *TRACKS,
        "self.num_batches_tracked += 1",
        "a = self.momentum",
        "if a is None:",
        "    a = 1 / self.num_batches_tracked.numpy()",
        "old_mean, old_var = self.running_mean.numpy(), self.running_var.numpy()",
        "old_mean += a * (mean.detach().numpy() - old_mean)",
        "old_var += a * (var.detach().numpy() * m / (m - 1) - old_var)",
    ),
    "cumulative-as-a-sum": update(
        *TRACKS,
        "k = self.num_batches_tracked.item()",
        "self.num_batches_tracked.fill_(k + 1)",
        "new = [mean.detach(), var.detach() * m / (m - 1)]",
        "for old, fresh in zip([self.running_mean, self.running_var], new):",
        "    if self.momentum is None:",
        "        old.mul_(k).add_(fresh).div_(k + 1)",
        "    else:",
        "        old.copy_(old * (1 - self.momentum) + fresh * self.momentum)",
    ),
    "inference-mode-free-update": update(
        *TRACKS,
        "before = torch.is_grad_enabled()",
        "torch.set_grad_enabled(False)",
        "try:",
        "    self.num_batches_tracked += 1",
        "    a = 1.0 / self.num_batches_tracked if self.momentum is None else self.momentum",
        "    self.running_mean *= 1 - a",
        "    self.running_mean += a * mean",
        "    self.running_var *= 1 - a",
        "    self.running_var += a * var * m / (m - 1)",
        "finally:",
        "    torch.set_grad_enabled(before)",
    ),
}

LAYERS["torch-layout"] = '''\
from __future__ import annotations

from typing import Any, ClassVar, Optional

import torch
from torch import Tensor, nn
from torch.nn import init
from torch.nn.parameter import Parameter


class DimensionError(ValueError):
    """Raised when the input has the wrong number of dimensions."""


class _Norm(nn.Module):
    """Common base, laid out as in PyTorch."""

    __constants__: ClassVar = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    _version = 2
    num_features: int
    eps: float
    momentum: Optional[float]

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: Optional[float] = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None) -> None:
        factory_kwargs = {"device": device, "dtype": dtype}
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        if self.affine:
            self.weight = Parameter(torch.empty(num_features, **factory_kwargs))
            self.bias = Parameter(torch.empty(num_features, **factory_kwargs))
        else:
            self.register_parameter("weight", None)
            self.register_parameter("bias", None)
        if self.track_running_stats:
            self.register_buffer("running_mean", torch.zeros(num_features, **factory_kwargs), persistent=True)
            self.register_buffer("running_var", torch.ones(num_features, **factory_kwargs), persistent=True)
            self.register_buffer("num_batches_tracked", torch.tensor(0, dtype=torch.long, device=device))
        else:
            self.register_buffer("running_mean", None)
            self.register_buffer("running_var", None)
            self.register_buffer("num_batches_tracked", None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return "{num_features}, eps={eps}, momentum={momentum}, affine={affine}".format(**self.__dict__)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing, unexpected, errors):
        version = local_metadata.get("version", None)
        if (version is None or version < 2) and self.track_running_stats:
            key = prefix + "num_batches_tracked"
            if key not in state_dict:
                state_dict[key] = torch.tensor(0, dtype=torch.long)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing, unexpected, errors)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        if input.size(1) != self.num_features:
            raise ValueError(f"expected {self.num_features} channels, got {input.size(1)}")
        exponential_average_factor = 0.0 if self.momentum is None else self.momentum
        bn_training = self.training or (self.running_mean is None and self.running_var is None)
        if bn_training and input.numel() // input.size(1) <= 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.size()}")
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                exponential_average_factor = 1.0 / float(self.num_batches_tracked)
        dims = tuple(d for d in range(input.dim()) if d != 1)
        view = (1, -1) + (1,) * (input.dim() - 2)
        if bn_training:
            mean = input.mean(dim=dims)
            var = input.var(dim=dims, unbiased=False)
            if self.training and self.track_running_stats:
                n = input.numel() / input.size(1)
                with torch.no_grad():
                    f = exponential_average_factor
                    self.running_mean.copy_(f * mean + (1 - f) * self.running_mean)
                    self.running_var.copy_(f * var * n / (n - 1) + (1 - f) * self.running_var)
        else:
            mean, var = self.running_mean, self.running_var
        out = (input - mean.view(view)) / torch.sqrt(var.view(view) + self.eps)
        if self.affine:
            out = out * self.weight.view(view) + self.bias.view(view)
        return out


class BatchNorm1d(_Norm):
    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 2 and input.dim() != 3:
            raise DimensionError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_Norm):
    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise DimensionError(f"expected 4D input (got {input.dim()}D input)")
'''

LAYERS["two-separate-students"] = """\
import torch
import torch.nn as nn

class BatchNorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        super(BatchNorm1d, self).__init__()
        self.C = num_features
        self.eps = eps
        self.mom = momentum
        self.aff = affine
        self.track = track_running_stats
        if affine == True:
            self.weight = nn.Parameter(torch.ones(num_features))
            self.bias = nn.Parameter(torch.zeros(num_features))
        else:
            self.weight = None
            self.bias = None
        if track_running_stats == True:
            self.register_buffer('running_mean', torch.zeros(num_features))
            self.register_buffer('running_var', torch.ones(num_features))
            self.register_buffer('num_batches_tracked', torch.tensor(0))
        else:
            self.running_mean = None
            self.running_var = None
            self.num_batches_tracked = None

    def forward(self, x):
        if len(x.shape) == 2:
            if x.shape[1] != self.C:
                raise ValueError('wrong C')
            if self.training == True or self.track == False:
                if x.shape[0] == 1:
                    raise ValueError('need more than one sample')
                mu = torch.mean(x, dim=0)
                v = torch.var(x, dim=0, unbiased=False)
                if self.training == True and self.track == True:
                    self.num_batches_tracked = self.num_batches_tracked + 1
                    if self.mom is None:
                        m = 1.0 / self.num_batches_tracked.item()
                    else:
                        m = self.mom
                    N = x.shape[0]
                    self.running_mean = ((1 - m) * self.running_mean + m * mu).detach()
                    self.running_var = ((1 - m) * self.running_var + m * v * N / (N - 1)).detach()
            else:
                mu = self.running_mean
                v = self.running_var
            out = (x - mu) / torch.sqrt(v + self.eps)
            if self.aff == True:
                out = self.weight * out + self.bias
            return out
        elif len(x.shape) == 3:
            # do the same thing, but first turn (N, C, L) into (N * L, C)
            N, C, L = x.shape
            flat = x.permute(0, 2, 1).contiguous().view(N * L, C)
            out = self.forward(flat)
            return out.view(N, L, C).permute(0, 2, 1)
        else:
            raise ValueError('wrong number of dimensions')


class BatchNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        nn.Module.__init__(self)
        self.num_features = num_features
        self.eps, self.momentum = eps, momentum
        self.gamma_beta = affine
        for name, start in (("weight", 1.0), ("bias", 0.0)):
            self.register_parameter(name, nn.Parameter(torch.full((num_features,), start)) if affine else None)
        for name, start in (("running_mean", 0.0), ("running_var", 1.0)):
            self.register_buffer(name, torch.full((num_features,), start) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", torch.zeros((), dtype=torch.int64) if track_running_stats else None)

    def forward(self, images):
        try:
            n, c, h, w = images.shape
        except ValueError:
            raise ValueError("give me (N, C, H, W)") from None
        if c != self.num_features: raise ValueError("channels")
        m = n * h * w
        if self.running_mean is None or self.training:
            if not m > 1: raise ValueError("too few values")
            mean = images.sum((0, 2, 3), keepdim=True) / m
            var = ((images - mean) ** 2).sum((0, 2, 3), keepdim=True) / m
            if self.running_mean is not None:
                with torch.no_grad():
                    self.num_batches_tracked.add_(1)
                    alpha = self.momentum if self.momentum is not None else 1 / self.num_batches_tracked.item()
                    self.running_mean.add_(alpha * (mean.flatten() - self.running_mean))
                    self.running_var.add_(alpha * (var.flatten() * m / (m - 1) - self.running_var))
        else:
            mean = self.running_mean.reshape(1, c, 1, 1)
            var = self.running_var.reshape(1, c, 1, 1)
        images = (images - mean) / (var + self.eps).sqrt()
        if self.gamma_beta:
            images = images * self.weight.reshape(1, c, 1, 1) + self.bias.reshape(1, c, 1, 1)
        return images
"""

LAYERS["metaclass"] = (
    HEAD.replace(
        "class _Base(nn.Module):\n    ranks = ()\n",
        '''class _Ranked(type):
    """Gives every class its ranks from its name."""

    def __new__(cls, name, bases, body):
        made = super().__new__(cls, name, bases, body)
        made.ranks = {"1d": (2, 3), "2d": (4,)}.get(name[-2:], ())
        return made


class _Base(nn.Module, metaclass=_Ranked):
''',
    )
    + """\
    def forward(self, x):
        self.check(x)
        axes = tuple(a for a in range(x.dim()) if a != 1)
        keep = {"dim": axes, "keepdim": True}
        shape = [1, -1] + [1] * (x.dim() - 2)
        if self.from_batch:
            mean = x.mean(**keep)
            var = torch.square(x - mean).mean(**keep)
            self.remember(mean.reshape(-1), var.reshape(-1), x.numel() // x.shape[1])
        else:
            mean, var = self.running_mean.reshape(shape), self.running_var.reshape(shape)
        y = (x - mean) / torch.sqrt(var + self.eps)
        return y if self.weight is None else torch.addcmul(self.bias.reshape(shape), y, self.weight.reshape(shape))


class BatchNorm1d(_Base): ...
class BatchNorm2d(_Base): ...
"""
)

LAYERS["class-decorator"] = (
    output(
        "y = (x - mean.view(shape)) / (var.view(shape) + self.eps).sqrt()",
        "return y * self.weight.view(shape) + self.bias.view(shape) if self.affine else y",
    ).removesuffix(TAIL)
    + """

def ranks(*allowed):
    def decorate(cls):
        cls.ranks = allowed
        return cls
    return decorate


@ranks(2, 3)
class BatchNorm1d(_Base):
    pass


@ranks(4)
class BatchNorm2d(_Base):
    pass
"""
)

LAYERS["1d-from-2d"] = """\
import torch
from torch import nn
import abc
import dataclasses
import functools


@dataclasses.dataclass(frozen=True)
class Options:
    num_features: int
    eps: float = 1e-5
    momentum: float = 0.1
    affine: bool = True
    track_running_stats: bool = True


class Moments:
    __slots__ = ("mean", "var")

    def __init__(self, mean, var):
        self.mean, self.var = mean, var

    @classmethod
    def of(cls, x, axes):
        mean = x.mean(axes)
        return cls(mean, (x - mean[:, None, None]).pow(2).mean(axes))


class BatchNorm2d(nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()
        self.options = Options(*args, **kwargs)
        o = self.options
        self.weight = nn.Parameter(torch.ones(o.num_features)) if o.affine else None
        self.bias = nn.Parameter(torch.zeros(o.num_features)) if o.affine else None
        tracked = o.track_running_stats
        self.register_buffer("running_mean", torch.zeros(o.num_features) if tracked else None)
        self.register_buffer("running_var", torch.ones(o.num_features) if tracked else None)
        self.register_buffer("num_batches_tracked", torch.tensor(0) if tracked else None)

    @functools.cached_property
    def denominator_eps(self):
        return float(self.options.eps)

    def _as_image(self, x):
        if x.dim() != 4:
            raise ValueError("4 axes please")
        return x

    def forward(self, x):
        shape = x.shape
        x = self._as_image(x)
        o = self.options
        if x.shape[1] != o.num_features:
            raise ValueError("channels")
        if self.training or not o.track_running_stats:
            m = x.shape[0] * x.shape[2] * x.shape[3]
            if m <= 1:
                raise ValueError("values")
            moments = Moments.of(x, (0, 2, 3))
            if o.track_running_stats:
                self._track(moments, m)
        else:
            moments = Moments(self.running_mean, self.running_var)
        y = (x - moments.mean[:, None, None]) / torch.sqrt(moments.var + self.denominator_eps)[:, None, None]
        if o.affine:
            y = y * self.weight[:, None, None] + self.bias[:, None, None]
        return y.reshape(shape)

    @torch.no_grad()
    def _track(self, moments, m):
        self.num_batches_tracked += 1
        a = self.options.momentum
        a = a if a is not None else 1 / self.num_batches_tracked.item()
        self.running_mean = (1 - a) * self.running_mean + a * moments.mean
        self.running_var = (1 - a) * self.running_var + a * moments.var * m / (m - 1)


class BatchNorm1d(BatchNorm2d):
    def _as_image(self, x):
        if x.dim() == 2:
            return x[:, :, None, None]
        if x.dim() == 3:
            return x[..., None]
        raise ValueError("2 or 3 axes please")
"""

LAYERS["mixins"] = """\
import torch
from torch import nn


class KeepsStatistics:
    def _make(self, c, track):
        start = dict(running_mean=torch.zeros(c), running_var=torch.ones(c), num_batches_tracked=torch.tensor(0))
        for name, tensor in start.items():
            self.register_buffer(name, tensor if track else None)

    def _follow(self, mean, var, m):
        with torch.no_grad():
            self.num_batches_tracked += 1
            a = self.momentum
            if a is None:
                a = torch.reciprocal(self.num_batches_tracked.to(mean.dtype))
            for old, new in ((self.running_mean, mean), (self.running_var, var * (m / (m - 1)))):
                old.sub_(a * (old - new))


class HasAffine:
    def _make_affine(self, c, affine):
        self.weight = self.bias = None
        if affine:
            self.weight, self.bias = nn.Parameter(torch.ones(c)), nn.Parameter(torch.zeros(c))

    def _affine(self, rows):
        return rows if self.weight is None else torch.addcmul(self.bias, rows, self.weight)


class BatchNorm1d(KeepsStatistics, HasAffine, nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        super().__init__()
        self.c, self.eps, self.momentum = num_features, eps, momentum
        self._make(num_features, track_running_stats)
        self._make_affine(num_features, affine)

    def _rank_ok(self, x):
        return x.dim() == 2 or x.dim() == 3

    def forward(self, x):
        if not (self._rank_ok(x) and x.shape[1] == self.c):
            raise ValueError(f"bad shape {list(x.shape)}")
        t = x.transpose(0, 1)  # (C, N, ...)
        rows = t.flatten(1)  # (C, m)
        if self.training or self.running_mean is None:
            m = rows.shape[1]
            if m == 1:
                raise ValueError("m == 1")
            mean = rows.mean(1)
            var = (rows - mean.unsqueeze(1)).square().mean(1)
            if self.running_mean is not None:
                self._follow(mean, var, m)
        else:
            mean, var = self.running_mean, self.running_var
        out = (rows - mean.unsqueeze(1)) / torch.sqrt(var + self.eps).unsqueeze(1)
        return self._affine(out.T).T.reshape(t.shape).transpose(0, 1)


class BatchNorm2d(BatchNorm1d):
    def _rank_ok(self, x):
        return x.dim() == 4
"""

LAYERS["pre-hook-checks"] = (
    output(
        "y = (x - mean.view(shape)) / (var.view(shape) + self.eps).sqrt()",
        "return y * self.weight.view(shape) + self.bias.view(shape) if self.affine else y",
        before="def _refuse(module, args):\n    module.check(*args)\n\n\n",
    )
    .replace("        self.check(x)\n", "")
    .replace(
        "        self.num_features, self.eps",
        "        self.register_forward_pre_hook(_refuse)\n        self.num_features, self.eps",
    )
)

LAYERS["pooling"] = """\
import torch
import torch.nn.functional as F
from torch import nn


class BatchNorm2d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, *, name="bn"):
        super().__init__()
        self.name = name
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        ones, zeros = torch.ones(num_features), torch.zeros(num_features)
        self.weight, self.bias = (nn.Parameter(ones.clone()), nn.Parameter(zeros.clone())) if affine else (None, None)
        self.register_buffer("running_mean", zeros if track_running_stats else None)
        self.register_buffer("running_var", ones if track_running_stats else None)
        self.register_buffer("num_batches_tracked", torch.tensor(0, dtype=torch.int64) if track_running_stats else None)

    def forward(self, x):
        if x.dim() != 4 or x.size(1) != self.num_features:
            raise ValueError("shape")
        return self.work(x)

    def work(self, x):
        def average(z):
            return F.adaptive_avg_pool2d(z, 1).mean(0, keepdim=True)

        def per_channel(v):
            return v.reshape(1, -1, 1, 1)

        if self.training or self.running_var is None:
            m = x[:, 0].numel()
            if m < 2:
                raise ValueError("m")
            mean = average(x)
            var = average((x - mean) ** 2)
            if self.training and self.running_var is not None:
                self.num_batches_tracked.add_(1)
                a = 1 / self.num_batches_tracked.item() if self.momentum is None else self.momentum
                self.running_mean.lerp_(mean.detach().flatten(), a)
                self.running_var.lerp_(var.detach().flatten() * m / (m - 1), a)
        else:
            mean, var = per_channel(self.running_mean), per_channel(self.running_var)
        y = (x - mean) / torch.sqrt(var + self.eps)
        return y if self.weight is None else y * per_channel(self.weight) + per_channel(self.bias)


class BatchNorm1d(BatchNorm2d):
    def forward(self, x):
        if x.dim() not in (2, 3) or x.size(1) != self.num_features:
            raise ValueError("shape")
        return self.work(x[(...,) + (None,) * (4 - x.dim())]).reshape(x.shape)
"""

LAYERS["golf"] = """\
import torch as t;N=t.nn
class BatchNorm1d(N.Module):
 R=2,3
 def __init__(s,num_features,eps=1e-5,momentum=.1,affine=True,track_running_stats=True):
  super().__init__();C=num_features;s.C,s.e,s.m=C,eps,momentum;P=N.Parameter
  s.weight,s.bias=(P(t.ones(C)),P(t.zeros(C)))if affine else(None,)*2
  for k,v in('running_mean',t.zeros(C)),('running_var',t.ones(C)),('num_batches_tracked',t.tensor(0)):s.register_buffer(k,v if track_running_stats else None)
 def forward(s,x):
  if x.ndim not in s.R or x.shape[1]-s.C:raise ValueError
  y=x.movedim(1,-1);M,V=s.running_mean,s.running_var
  if s.training or M is None:
   m=y.numel()//s.C
   if m<2:raise ValueError
   *d,_=range(y.ndim);v,u=t.var_mean(y,d,correction=0)
   if M is not None:s.num_batches_tracked+=1;a=s.m if s.m is not None else 1/s.num_batches_tracked.item();M.lerp_(u.data,a);V.lerp_(v.data*m/(m-1),a)
   M,V=u,v
  y=(y-M)*(V+s.e)**-.5
  return(y if s.weight is None else y*s.weight+s.bias).movedim(-1,1)
class BatchNorm2d(BatchNorm1d):R=4,
"""

LAYERS["lambda-made"] = (
    output(
        "y = (x - mean.view(shape)) / (var.view(shape) + self.eps).sqrt()",
        "return y * self.weight.view(shape) + self.bias.view(shape) if self.affine else y",
    ).removesuffix(TAIL)
    + """

make = lambda name, *ranks: type(name, (_Base,), {"ranks": ranks, "__doc__": f"{name} by type()"})
BatchNorm1d, BatchNorm2d = make("BatchNorm1d", 2, 3), make("BatchNorm2d", 4)
"""
)

LAYERS["init-subclass-and-new"] = (
    output(
        "y = (x - mean.view(shape)) / (var.view(shape) + self.eps).sqrt()",
        "return y * self.weight.view(shape) + self.bias.view(shape) if self.affine else y",
    )
    .replace(
        "    ranks = ()\n",
        "    def __init_subclass__(cls, ranks=(), **more):\n        super().__init_subclass__(**more)\n        cls.ranks = ranks\n\n    def __new__(cls, *args, **kwargs):\n        return super().__new__(cls)\n",
    )
    .replace("class BatchNorm1d(_Base):\n    ranks = (2, 3)", "class BatchNorm1d(_Base, ranks=(2, 3)):\n    pass")
    .replace("class BatchNorm2d(_Base):\n    ranks = (4,)", "class BatchNorm2d(_Base, ranks=(4,)):\n    pass")
)

_VIEW = """\
import torch
from torch import nn


class BatchNorm1d(nn.Module):
    '''Eine Schicht: y = γ (x - μ) / √(σ² + ε) + β'''

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        super().__init__()
        self.ε, self.α, self.größe = eps, momentum, num_features
        if affine:
            self.weight = nn.Parameter(torch.ones(num_features))
            self.bias = nn.Parameter(torch.zeros(num_features))
        else:
            self.weight = self.bias = None
        if track_running_stats:
            self.register_buffer("running_mean", torch.zeros(num_features))
            self.register_buffer("running_var", torch.ones(num_features))
            self.register_buffer("num_batches_tracked", torch.tensor(0, dtype=torch.long))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                setattr(self, name, None)

    def forward(self, x):
        if x.dim() not in (2, 3) or x.shape[1] != self.größe:
            raise ValueError(f"Größe {tuple(x.shape)}")
        achsen = [i for i in range(x.dim()) if i != 1]
        def breit(v): return v.reshape([1, -1] + [1] * (x.dim() - 2))
        if self.training or self.running_mean is None:
            n = x.numel() // self.größe
            if n == 1:
                raise ValueError("nur ein Wert je Kanal")
            μ = x.mean(achsen)
            σ2 = ((x - breit(μ)) ** 2).mean(achsen)
            if self.running_mean is not None:
                self.num_batches_tracked += 1
                α = 1 / self.num_batches_tracked.item() if self.α is None else self.α
                self.running_mean = (1 - α) * self.running_mean + α * μ.detach()
                self.running_var = (1 - α) * self.running_var + α * σ2.detach() * n / (n - 1)
        else:
            μ, σ2 = self.running_mean, self.running_var
        y = (x - breit(μ)) / torch.sqrt(breit(σ2) + self.ε)
        return y if self.weight is None else breit(self.weight) * y + breit(self.bias)
"""
LAYERS["german"] = _VIEW + "\n\n" + as_2d(_VIEW)
LAYERS["tabs"] = LAYERS["two-separate-students"].replace("    ", "\t")
LAYERS["unbound-forward"] = """\
import torch
from torch import nn
{base}

class BatchNorm2d(nn.Module):
    __init__ = lambda self, *a, **k: (nn.Module.__init__(self), self._build(*a, **k))[0]
    _build = BatchNorm1d._build

    def forward(self, x):
        if x.dim() != 4:
            raise ValueError("rank")
        n, c, h, w = x.shape
        return BatchNorm1d.forward(self, x.reshape(n, c, h * w)).reshape(n, c, h, w)
""".replace(
    "{base}",
    """
class BatchNorm1d(nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()
        self._build(*args, **kwargs)

    def _build(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_features)) if affine else None
        track = track_running_stats
        self.register_buffer("running_mean", torch.zeros(num_features) if track else None)
        self.register_buffer("running_var", torch.ones(num_features) if track else None)
        self.register_buffer("num_batches_tracked", torch.tensor(0) if track else None)

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError("rank")
        if x.shape[1] != self.num_features:
            raise ValueError("width")
        axes = (0,) if x.dim() == 2 else (0, 2)
        up = (lambda t: t) if x.dim() == 2 else (lambda t: t[:, None])
        if self.running_mean is not None and not self.training:
            mean, var = self.running_mean, self.running_var
        else:
            n = x.numel() // self.num_features
            if n == 1:
                raise ValueError("one value")
            mean, var = x.mean(axes), x.var(axes, correction=0)
            if self.running_mean is not None:
                with torch.no_grad():
                    self.num_batches_tracked += 1
                    k = self.momentum if self.momentum is not None else 1 / self.num_batches_tracked.item()
                    self.running_mean[:] = k * mean + (1 - k) * self.running_mean
                    self.running_var[...] = k * var * n / (n - 1) + (1 - k) * self.running_var
        y = (x - up(mean)) / up(torch.sqrt(var + self.eps))
        return y if self.weight is None else y * up(self.weight) + up(self.bias)
""",
)

# torch.jit.script reads the source, so this one works in a kernel but not in a plain exec.
SCRIPTED = output(
    "y = _scripted(x, mean.view(shape), var.view(shape), float(self.eps))",
    "return y * self.weight.view(shape) + self.bias.view(shape) if self.affine else y",
    before="""\
import torch


@torch.jit.script
def _scripted(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor, eps: float) -> torch.Tensor:
    return (x - mean) / torch.sqrt(var + eps)


""",
)
