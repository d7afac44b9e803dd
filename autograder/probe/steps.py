"""The steps of a scenario, done on a student's objects: build, call, load, look.

What a step raises goes to `run`, which calls these and makes an observation of it.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from autograder.probe import observe
from autograder.probe.arguments import Given, real
from autograder.probe.conversion import convert
from autograder.probe.gradient import backward
from autograder.probe.oplog import inherited
from autograder.trace.look import EVERYTHING, Look
from autograder.trace.scenario import (
    Backward,
    Build,
    Call,
    Cast,
    Forward,
    Freeze,
    Load,
    Mode,
    Put,
    Recipe,
    Reload,
    State,
    Step,
    Twin,
    Value,
)
from autograder.trace.trace import Seen

UNCHANGED = "x is unchanged"
EARLIER = "the earlier y is unchanged"
UPSTREAM = "grad_out is unchanged"
RESULT = "the earlier result is unchanged"


class Bench:
    """What a scenario works on: the module, the graph that waits for its backward pass."""

    def __init__(self, namespace: Mapping[str, Any], look: Look = EVERYTHING) -> None:
        self.namespace, self.look = namespace, look
        self.build: Build | None = None
        self.m: Any = None  # the module under test
        self.outer: Any = None  # what is called: the module, or the nn.Sequential around it
        self.hooked = 0
        self.waiting: tuple[Any, Any] | None = None
        # The last y, and the tensors in the last result of a function, each with its numbers when it was new.
        self.earlier: tuple[torch.Tensor, torch.Tensor] | None = None
        self.results: list[tuple[torch.Tensor, torch.Tensor]] | None = None
        self.inherits: tuple[str, ...] = ()

    def do(self, step: Step, seen: dict[str, Seen], given: Given | None = None) -> None:
        """Do one step and write what it shows into `seen`, also the part before a failure."""
        if isinstance(step, Call):
            assert given is not None, "the arguments of a Call are made before it"
            self._call(step, given, seen)
        else:
            _DO[type(step)](self, step, seen)

    def _target(self, name: str) -> Any:
        if name not in self.namespace:
            raise NameError(f"{name} is not defined: write it, or run the cell that defines it")
        return self.namespace[name]

    def _build(self, step: Build, _: dict[str, Seen]) -> None:
        if step.at_first_call:
            self.build = step
        else:
            self._construct(step)

    def _construct(self, step: Build) -> None:
        cls = self._target(step.target)
        self.build, self.m = step, cls(*map(real, step.args), **{k: real(v) for k, v in step.kwargs.items()})
        if not isinstance(self.m, torch.nn.Module):
            raise TypeError(f"{step.target}(...) must be an nn.Module; it is a {type(self.m).__name__}")
        self.inherits = inherited(self.m)
        if step.dtype is not None:
            convert(self.m, getattr(torch, step.dtype))
        self.outer, self.hooked = self.m, 0
        if step.child:
            self.outer = torch.nn.Sequential(self.m)
            self.m.register_forward_hook(self._count)

    def _count(self, *_: Any) -> None:
        self.hooked += 1

    def _cast(self, step: Cast, _: dict[str, Seen]) -> None:
        self.outer.to(getattr(torch, step.dtype))

    def _freeze(self, step: Freeze, _: dict[str, Seen]) -> None:
        for name in step.names:
            getattr(self.m, name).requires_grad_(False)

    def _put(self, step: Put, _: dict[str, Seen]) -> None:
        setattr(self.m, step.name, step.value)

    def _switch(self, step: Mode, _: dict[str, Seen]) -> None:
        if step.attribute:
            self.m.training = step.training
        elif step.training:
            self.outer.train()
        else:
            self.outer.eval()

    def _load(self, step: Load, _: dict[str, Seen]) -> None:
        state = {name: real(recipe) for name, recipe in step.state.items()}
        if not step.fill:
            self.m.load_state_dict(state, strict=True)
            return
        with torch.no_grad():
            for name, value in state.items():
                there = getattr(self.m, name)
                if not isinstance(there, torch.Tensor):
                    raise AttributeError(f"m.{name} must be a tensor; it is {type(there).__name__}")
                if there.shape != value.shape:
                    raise ValueError(f"m.{name} must have shape {tuple(value.shape)}; it has {tuple(there.shape)}")
                there.copy_(value)

    def _reload(self, step: Reload, _: dict[str, Seen]) -> None:
        if step.copy:
            self.m = self.outer = copy.deepcopy(self.m)
            return
        assert self.build is not None, "a Reload follows a Build"
        state, training = copy.deepcopy(self.m.state_dict()), self.m.training
        self._construct(self.build)
        self.m.load_state_dict(state, strict=True)
        self.m.train(training)

    def _forward(self, step: Forward, seen: dict[str, Seen]) -> None:
        if self.m is None and self.build is not None:
            self._construct(self.build)
        x = real(step.x)
        x.requires_grad_(step.x_requires_grad and step.grad_enabled)
        before = x.detach().clone() if self.look.at(UNCHANGED) else None
        if not _has_no_gradient(self.m):
            self.m.zero_grad(set_to_none=True)
        with torch.set_grad_enabled(step.grad_enabled):
            y = self.outer(x)
        if before is not None:
            seen[UNCHANGED] = bool(torch.equal(x.detach(), before))
        if self.build is not None and self.build.child:
            seen["forward hooks fired"], self.hooked = self.hooked, 0
        seen["y"] = observe.thing(y)
        if self.look.at(EARLIER):
            if self.earlier is not None:
                seen[EARLIER] = _same(*self.earlier)
            self.earlier = (y, y.detach().clone()) if type(y) is torch.Tensor else None
        if not isinstance(y, torch.Tensor):
            return
        if step.later:
            self.waiting = (x, y)
        elif step.grad is not None:
            self._backward(x, y, step.grad, seen)

    def _twin(self, step: Twin, _: dict[str, Seen]) -> None:
        assert self.build is not None, "a Twin follows a Build"
        bench = Bench(self.namespace, self.look)
        bench._construct(replace(self.build, kwargs={}))
        with torch.no_grad():
            bench.outer(real(step.x))

    def _late_backward(self, step: Backward, seen: dict[str, Seen]) -> None:
        assert self.waiting is not None, "a Backward follows a Forward with later=True"
        (x, y), self.waiting = self.waiting, None
        self._backward(x, y, step.grad, seen)

    def _backward(self, x: Any, y: Any, grad: Recipe, seen: dict[str, Seen]) -> None:
        arriving = real(grad)
        before = arriving.clone() if self.look.at(UPSTREAM) else None
        backward(y, arriving)
        if before is not None:  # a gradient belongs to whoever sends it, and may be sent elsewhere, too
            seen[UPSTREAM] = _same(arriving, before)
        if self.look.at("x.grad"):
            seen["x.grad"] = observe.thing(x.grad)
        for name, parameter in itertools.islice(self.m.named_parameters(), 20):
            if self.look.at(address := f"m.{name}.grad"):
                seen[address] = observe.thing(parameter.grad)

    def _state(self, _: State, seen: dict[str, Seen]) -> None:
        seen.update(observe.state(self.m, self.look))

    def _value(self, step: Value, seen: dict[str, Seen]) -> None:
        seen.update(observe.value(step.target, self._target(step.target), self.look))

    def _call(self, step: Call, given: Given, seen: dict[str, Seen]) -> None:
        result = self._target(step.target)(*given.args, **given.kwargs)
        seen.update(observe.value("result", result, self.look))
        if self.look.at(RESULT):
            if self.results is not None:
                seen[RESULT] = all(_same(now, before) for now, before in self.results)
            parts = result.values() if type(result) is dict else result if type(result) in (tuple, list) else (result,)
            tensors = [part for part in itertools.islice(parts, 20) if type(part) is torch.Tensor]
            self.results = [(part, part.detach().clone()) for part in tensors]


_DO: Mapping[type[Step], Callable[[Bench, Any, dict[str, Seen]], None]] = {
    Build: Bench._build,
    Cast: Bench._cast,
    Mode: Bench._switch,
    Load: Bench._load,
    Reload: Bench._reload,
    Freeze: Bench._freeze,
    Put: Bench._put,
    Forward: Bench._forward,
    Twin: Bench._twin,
    Backward: Bench._late_backward,
    State: Bench._state,
    Value: Bench._value,
}


def _same(now: torch.Tensor, before: torch.Tensor) -> bool:
    """Tell whether two tensors of one shape hold the same numbers, no number at the same places included."""
    now = now.detach()
    return now.shape == before.shape and bool(((now == before) | ((now != now) & (before != before))).all())


def _has_no_gradient(m: Any) -> bool:
    """Tell whether there plainly is none to set to zero: a plain module without others in it, as most layers are."""
    there = vars(m)
    if type(m).zero_grad is not torch.nn.Module.zero_grad or "zero_grad" in there or there.get("_modules", True):
        return False
    return all(parameter is None or parameter.grad is None for parameter in there["_parameters"].values())
