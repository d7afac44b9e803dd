"""Honest variants of lab 6 that are written as a whole in a style of their own."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab06_beyond.plain import PLAIN

LOOPS_RENORM = """\
import torch
from torch import nn


class BatchRenorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        self.C, self.eps, self.momentum, self.r_max, self.d_max = num_features, eps, momentum, r_max, d_max
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_std", torch.ones(num_features))

    def forward(self, x):
        if x.ndim != 2 and x.ndim != 3 or x.size(1) != self.C:
            raise ValueError("wrong shape: " + str(list(x.shape)))
        if self.training and x[:, 0].numel() == 1:
            raise ValueError("only one value per channel")
        done = []
        for c in range(self.C):
            column = x[:, c]
            if self.training:
                n = column.numel()
                mean = sum(row.sum() for row in column) / n
                spread = (((column - mean) ** 2).sum() / n + self.eps) ** 0.5
                ratio = float(spread) / float(self.running_std[c])
                shift = (float(mean) - float(self.running_mean[c])) / float(self.running_std[c])
                r = min(max(ratio, 1 / self.r_max), self.r_max)
                d = min(max(shift, -self.d_max), self.d_max)
                out = (column - mean) / spread * r + d
                with torch.no_grad():
                    self.running_mean[c] += self.momentum * (mean - self.running_mean[c])
                    self.running_std[c] += self.momentum * (spread - self.running_std[c])
            else:
                out = (column - self.running_mean[c]) / self.running_std[c]
            done.append(self.weight[c] * out + self.bias[c])
        return torch.stack(done, dim=1)
"""

LOOPS_WEIGHT = """\
import math

import torch
from torch import nn


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.weight_v = nn.Parameter(torch.empty(out_features, in_features).normal_(0, 0.05))
        lengths = [math.sqrt(sum(float(w) ** 2 for w in row)) for row in self.weight_v]
        self.weight_g = nn.Parameter(torch.tensor(lengths).reshape(out_features, 1))
        if bias:
            self.bias = nn.Parameter(torch.empty(out_features).normal_())
        else:
            self.register_parameter("bias", None)

    def forward(self, x):
        outputs = []
        for k, row in enumerate(self.weight_v):
            w = self.weight_g[k] * row / torch.sqrt(torch.sum(row * row))
            value = (x * w).sum(-1)
            outputs.append(value if self.bias is None else value + self.bias[k])
        return torch.stack(outputs, -1)
"""

FUNCTION_RENORM = """\
import torch
from torch import nn


class Renormalize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, weight, bias, r, d, eps):
        mean = rows.mean(0)
        sigma = ((rows - mean).pow(2).mean(0) + eps).sqrt()
        z = (rows - mean) / sigma
        ctx.save_for_backward(z, sigma, weight, r, d)
        return (z * r + d) * weight + bias

    @staticmethod
    def backward(ctx, grad):
        z, sigma, weight, r, d = ctx.saved_tensors
        grad_rows = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_rows = weight * r / sigma * (grad - grad.mean(0) - z * (grad * z).mean(0))
        if ctx.needs_input_grad[1]:
            grad_weight = (grad * (z * r + d)).sum(0)
        if ctx.needs_input_grad[2]:
            grad_bias = grad.sum(0)
        return grad_rows, grad_weight, grad_bias, None, None, None


class BatchRenorm1d(nn.Module):
    def __init__(self, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.r_max = r_max
        self.d_max = d_max
        self.register_parameter("weight", nn.Parameter(torch.full((num_features,), 1.0)))
        self.register_parameter("bias", nn.Parameter(torch.full((num_features,), 0.0)))
        self.register_buffer("running_mean", torch.full((num_features,), 0.0))
        self.register_buffer("running_std", torch.full((num_features,), 1.0))

    def extra_repr(self):
        return f"{self.num_features}, r_max={self.r_max}, d_max={self.d_max}"

    def forward(self, x):
        if x.dim() not in (2, 3):
            raise ValueError(f"need 2 or 3 axes, not {x.dim()}")
        if x.size(1) != self.num_features:
            raise ValueError(f"need {self.num_features} channels, not {x.size(1)}")
        moved = x.transpose(1, -1)
        rows = moved.reshape(-1, self.num_features)
        if not self.training:
            out = (rows - self.running_mean) / self.running_std * self.weight + self.bias
            return out.reshape(moved.shape).transpose(1, -1)
        if rows.size(0) < 2:
            raise ValueError("need two values per channel")
        with torch.no_grad():
            mean = rows.mean(0)
            sigma = ((rows - mean).pow(2).mean(0) + self.eps).sqrt()
            r = (sigma / self.running_std).clip(1 / self.r_max, self.r_max)
            d = ((mean - self.running_mean) / self.running_std).clip(-self.d_max, self.d_max)
            self.running_mean.mul_(1 - self.momentum).add_(mean, alpha=self.momentum)
            self.running_std.mul_(1 - self.momentum).add_(sigma, alpha=self.momentum)
        out = Renormalize.apply(rows, self.weight, self.bias, r, d, self.eps)
        return out.reshape(moved.shape).transpose(1, -1)
"""

FUNCTION_WEIGHT = """\
import torch
from torch import nn


class Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, g, v):
        n = v.pow(2).sum(1, keepdim=True).sqrt()
        ctx.save_for_backward(g, v, n)
        return v * (g / n)

    @staticmethod
    def backward(ctx, grad):
        g, v, n = ctx.saved_tensors
        along = (grad * v).sum(1, keepdim=True) / n
        return along, g / n * grad - g * along / n**2 * v


class WeightNormLinear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        v = torch.empty(out_features, in_features)
        nn.init.kaiming_uniform_(v, a=5**0.5)
        self.weight_v = nn.Parameter(v)
        self.weight_g = nn.Parameter(v.pow(2).sum(1, keepdim=True).sqrt())
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None

    @property
    def weight(self):
        return Rows.apply(self.weight_g, self.weight_v)

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1]) @ self.weight.t()
        if self.bias is not None:
            flat = flat + self.bias
        return flat.reshape(*x.shape[:-1], flat.shape[-1])
"""

BASE_RENORM = '''\
from typing import Optional

import torch
from torch import Tensor, nn


class Refused(ValueError):
    """This layer cannot take such an input."""


class Remembering(nn.Module):
    """Keeps two running values per channel, and knows how to reach them."""

    running_mean: Tensor
    running_std: Tensor

    def __init__(self, channels: int, momentum: float) -> None:
        super().__init__()
        self.channels, self.momentum = channels, momentum
        for name, start in {"running_mean": 0.0, "running_std": 1.0}.items():
            self.register_buffer(name, torch.full([channels], start))

    def remember(self, **seen: Tensor) -> None:
        for name, value in seen.items():
            kept = self.get_buffer(name)
            kept.copy_(torch.lerp(kept, value.detach().to(kept), self.momentum))


class BatchRenorm1d(Remembering):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.01,
        r_max: float = 3.0,
        d_max: float = 5.0,
    ) -> None:
        super().__init__(num_features, momentum)
        self.eps, self.r_max, self.d_max = eps, r_max, d_max
        self.weight, self.bias = nn.Parameter(torch.ones(num_features)), nn.Parameter(torch.zeros(num_features))

    def forward(self, x: Tensor) -> Tensor:
        match x.shape:
            case (n, c) | (n, c, _) if c == self.channels:
                pass
            case other:
                raise Refused(f"no way to renormalize {tuple(other)}")
        channels_last = x.unsqueeze(-1).movedim(1, -1)
        hat = self.of_batch(channels_last) if self.training else self.of_memory(channels_last)
        return (hat * self.weight + self.bias).movedim(-1, 1).squeeze(-1).reshape(x.shape)

    def of_memory(self, x: Tensor) -> Tensor:
        return x.sub(self.running_mean).div(self.running_std)

    def of_batch(self, x: Tensor) -> Tensor:
        axes = tuple(range(x.dim() - 1))
        if x[..., 0].numel() < 2:
            raise Refused("two values per channel at least")
        mu = x.mean(axes)
        sd = torch.sqrt((x - mu).square().mean(axes) + self.eps)
        r = self.held(sd / self.running_std, 1 / self.r_max, self.r_max)
        d = self.held((mu - self.running_mean) / self.running_std, -self.d_max, self.d_max)
        out = (x - mu) / sd * r + d
        self.remember(running_mean=mu, running_std=sd)
        return out

    @staticmethod
    def held(value: Tensor, low: float, high: Optional[float]) -> Tensor:
        return value.detach().clamp(low, high)
'''

BASE_WEIGHT = '''\
import torch
from torch import Tensor, nn


def polar(v: Tensor) -> tuple[Tensor, Tensor]:
    """Return the length and the direction of each row."""
    length = torch.linalg.norm(v, dim=1, keepdim=True)
    return length, v / length


class WeightNormLinear(nn.Linear):
    """An nn.Linear whose own weight is taken away: a property of this name makes W at each call."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__(in_features, out_features, bias)
        v = self._parameters.pop("weight")
        self.weight_g = nn.Parameter(polar(v.detach())[0])
        self.weight_v = nn.Parameter(v.detach().clone())

    @property
    def weight(self) -> Tensor:
        return self.weight_g * polar(self.weight_v)[1]

    def __setattr__(self, name: str, value: object) -> None:
        if name == "weight":
            self.register_parameter(name, value)
        else:
            super().__setattr__(name, value)
'''

GREEK_RENORM = """\
import torch as τ
from einops import rearrange, reduce


class BatchRenorm1d(τ.nn.Module):
    def __init__(ich, num_features, eps=1e-5, momentum=0.01, r_max=3.0, d_max=5.0):
        super().__init__()
        ich.ε, ich.α, ich.r_max, ich.d_max = eps, momentum, r_max, d_max
        ich.weight = τ.nn.Parameter(τ.ones(num_features))
        ich.bias = τ.nn.Parameter(τ.zeros(num_features))
        ich.register_buffer("running_mean", τ.zeros(num_features))
        ich.register_buffer("running_std", τ.ones(num_features))

    def forward(ich, χ):
        C = ich.weight.numel()
        if χ.ndim not in {2, 3} or χ.shape[1] != C:
            raise ValueError(f"{[*χ.shape]} ?")
        form = "n c l -> (n l) c" if χ.ndim == 3 else "n c -> n c"
        zeilen = rearrange(χ, form)
        μ, σ = ich.running_mean, ich.running_std
        if ich.training:
            if len(zeilen) == 1:
                raise ValueError("m = 1")
            μB = reduce(zeilen, "m c -> c", "mean")
            σB = (reduce((zeilen - μB) ** 2, "m c -> c", "mean") + ich.ε) ** 0.5
            r, d = ((σB / σ).detach(), ((μB - μ) / σ).detach())
            r = τ.where(r > ich.r_max, τ.full_like(r, ich.r_max), r)
            r = τ.where(r * ich.r_max < 1, τ.full_like(r, 1 / ich.r_max), r)
            d = d.sign() * d.abs().clamp(max=ich.d_max)
            ξ = r * (zeilen - μB) / σB + d
            with τ.no_grad():
                μ.copy_(ich.α * μB + (1 - ich.α) * μ)
                σ.copy_(ich.α * σB + (1 - ich.α) * σ)
        else:
            ξ = (zeilen - μ) / σ
        y = ξ * ich.weight + ich.bias
        return rearrange(y, "(n l) c -> n c l", n=len(χ)) if χ.ndim == 3 else y
"""

GREEK_WEIGHT = """\
import torch as τ
from einops import einsum, reduce


class WeightNormLinear(τ.nn.Module):
    def __init__(ich, in_features, out_features, bias=True):
        super().__init__()
        V = τ.empty(out_features, in_features).uniform_(-1, 1) / in_features**0.5
        ich.weight_g = τ.nn.Parameter(ich.länge(V))
        ich.weight_v = τ.nn.Parameter(V)
        ich.bias = τ.nn.Parameter(τ.empty(out_features).uniform_()) if bias else None

    @staticmethod
    def länge(V):
        return reduce(V * V, "o i -> o 1", "sum") ** 0.5

    def forward(ich, χ):
        W = ich.weight_v * (ich.weight_g / ich.länge(ich.weight_v))
        y = einsum(χ, W, "... i, o i -> ... o")
        return y if ich.bias is None else y + ich.bias
"""

SINGLE_RENORM = PLAIN["BatchRenorm1d"].replace(
    "        axes = [axis", "        given, x = x.dtype, x.float()\n        axes = [axis"
).replace(
    "return self.weight.view(shape) * x_hat + self.bias.view(shape)",
    "return (self.weight.view(shape) * x_hat + self.bias.view(shape)).to(given)",
)  # fmt: skip
SINGLE_WEIGHT = PLAIN["WeightNormLinear"].replace(
    "y = x @ weight.t()", "y = (x.float() @ weight.float().t()).to(x.dtype)"
)

WHOLE: tuple[Variant, ...] = (
    Variant("loops", "Loops over channels, samples and rows; Python numbers for r and d",
            {"BatchRenorm1d": LOOPS_RENORM, "WeightNormLinear": LOOPS_WEIGHT}),
    Variant("own-function", "A torch.autograd.Function with a backward of its own in each layer",
            {"BatchRenorm1d": FUNCTION_RENORM, "WeightNormLinear": FUNCTION_WEIGHT}),
    Variant("base-class", "A base class, an exception class, match; nn.Linear without its weight",
            {"BatchRenorm1d": BASE_RENORM, "WeightNormLinear": BASE_WEIGHT}),
    Variant("greek-einops", "Greek names, German words, einops",
            {"BatchRenorm1d": GREEK_RENORM, "WeightNormLinear": GREEK_WEIGHT}),
    Variant("float32-inside", "Computed in float32, whatever comes in",
            {"BatchRenorm1d": SINGLE_RENORM, "WeightNormLinear": SINGLE_WEIGHT}),
)  # fmt: skip
