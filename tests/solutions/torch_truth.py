"""The truth about batch normalization: torch.nn with the contract's exceptions, and the inputs to ask with."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn


def define(source: str, name: str) -> Any:
    """Run a source and return the name it defines."""
    names: dict[str, Any] = {"__name__": "submission"}
    exec(compile(source, f"<{name}>", "exec", dont_inherit=True), names)
    return names[name]


class Truth1d(nn.BatchNorm1d):
    """torch's layer with the contract's exceptions; contiguous, since torch is wrong for some strides."""

    ranks: tuple[int, ...] = (2, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() not in self.ranks or x.shape[1] != self.num_features:
            raise ValueError("refused by the contract")
        if (self.training or self.running_mean is None) and x.numel() == x.shape[1]:
            raise ValueError("refused by torch too, but only after it has counted the call")
        return nn.BatchNorm1d.forward(self, x.contiguous())

    def _check_input_dim(self, input: torch.Tensor) -> None:
        return None


class Truth2d(Truth1d):
    ranks = (4,)


TRUTH = {1: Truth1d, 2: Truth2d}


def drawn(label: str, shape: tuple[int, ...], dtype: torch.dtype = torch.float64, loc: float = 3.0) -> torch.Tensor:
    """Numbers that depend on the label only; each channel has its own mean and spread."""
    x = torch.randn(shape, generator=torch.Generator().manual_seed(zlib.crc32(label.encode())), dtype=torch.float64)
    if len(shape) > 1:
        channel = torch.arange(1.0, shape[1] + 1, dtype=torch.float64).view(-1, *[1] * (len(shape) - 2))
        x = x * channel + loc * channel
    return x.to(dtype)


def truth_backward(grad_out: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-5) -> tuple[Any, ...]:
    """The gradients by autograd through torch's own function, in float64."""
    leaves = [t.detach().double().contiguous().requires_grad_() for t in (x, weight, torch.zeros_like(weight))]
    y = nn.functional.batch_norm(leaves[0], None, None, leaves[1], leaves[2], True, 0.0, eps)
    return tuple(g.to(x.dtype) for g in torch.autograd.grad(y, leaves, grad_out.double()))


def layouts(x: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """The same values, laid out otherwise in memory."""
    yield "reversed strides", x.permute(*range(x.dim())[::-1]).contiguous().permute(*range(x.dim())[::-1])
    yield "every other", torch.stack([x, x], dim=-1)[..., 0]
    if x.dim() > 2:
        yield "channels last", x.movedim(1, -1).contiguous().movedim(-1, 1)
