"""Tell what a function under test has left of a model that it was given: as a witness who saw it before. It judges nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from autograder.probe.observe import dtype_name
from autograder.trace.look import EVERYTHING, Look
from autograder.trace.trace import Seen, Tensor

MAX_SEEN = 40  # tensors of one network


class Witness:
    """What a model at a place among the arguments was before a function was given it, as far as somebody looks.

    `changes` says that the function is to train it.
    """

    def __init__(self, model: nn.Module, place: str, changes: bool, look: Look = EVERYTHING) -> None:
        self.model, self.place, self.changes, self.look = model, place, changes, look
        about = ("mode", "hooks", *(("momentum", "requires_grad") if changes else ("gradients", "numbers")))
        self.asked = {what for what in about if look.at(f"{place} keeps its {what}")}
        self.modules = _modules(model) if self.asked & _OF_MODULES else None
        self.wanted = _wanted(model) if self.asked & {"requires_grad", "gradients"} else []
        self.gradients = _gradients(model) if "gradients" in self.asked else {}
        self.numbers = {}
        if "numbers" in self.asked:
            self.numbers = {name: tensor.clone() for name, tensor in _numbers(model).items()}

    def tells(self) -> Iterator[tuple[str, Seen]]:
        """Yield what is to be said of the model, as addresses and what stands there."""
        before, now = self.modules, _modules(self.model) if self.modules is not None else None
        if before is not None and now is not None:
            if "mode" in self.asked:
                yield f"{self.place} keeps its mode", now.modes == before.modes
            if "hooks" in self.asked:
                yield f"{self.place} keeps its hooks", now.hooks == before.hooks
            if "momentum" in self.asked:
                yield f"{self.place} keeps its momentum", now.momenta == before.momenta
        if "requires_grad" in self.asked:
            yield f"{self.place} keeps its requires_grad", _wanted(self.model) == self.wanted
        if self.changes:
            for name, tensor in list(self.model.state_dict().items())[:MAX_SEEN]:
                address = f"{self.place}: {name}"
                if self.look.at(address):
                    # A copy: a later step may go on training.
                    yield address, Tensor(dtype_name(tensor.dtype), tensor.cpu().clone().numpy())
        if "gradients" in self.asked:
            kept = dict(_wanted(self.model)) == dict(self.wanted) and _same(_gradients(self.model), self.gradients)
            yield f"{self.place} keeps its gradients", kept
        if "numbers" in self.asked and before is not None and now is not None:
            kept = _same(_numbers(self.model), self.numbers) and now.momenta == before.momenta
            yield f"{self.place} keeps its numbers", kept


_OF_MODULES = {"mode", "hooks", "momentum", "numbers"}


@dataclass(frozen=True)
class _Modules:
    """Of each module of a model by its name: whether it is in training mode, its momentum, the number of its hooks."""

    modes: list[tuple[str, bool]]
    momenta: list[tuple[str, Any]]
    hooks: list[tuple[str, int]]


def _modules(model: nn.Module) -> _Modules:
    named = list(model.named_modules())
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return _Modules(
        [(name, module.training) for name, module in named],
        [(name, getattr(module, "momentum", None)) for name, module in named],
        [(name, sum(len(getattr(module, kind)) for kind in kinds)) for name, module in named],
    )


def _wanted(model: nn.Module) -> list[tuple[str, bool]]:
    return [(name, parameter.requires_grad) for name, parameter in model.named_parameters()]


def _numbers(model: nn.Module) -> dict[str, Any]:
    return {**model.state_dict(), **dict(model.named_buffers())}  # a buffer that is not saved is one, too


def _gradients(model: nn.Module) -> dict[str, Any]:
    return {name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()}


def _same(now: Any, before: Any) -> bool:
    if now.keys() != before.keys():
        return False
    pairs = ((now[name], before[name]) for name in now)
    return all(a is b if a is None or b is None else torch.equal(a, b) for a, b in pairs)
