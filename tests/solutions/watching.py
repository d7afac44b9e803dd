"""Puts one implementation through all that the contract speaks of and writes down what was seen. It does not judge."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch_truth import TRUTH, drawn, layouts

Record = dict[str, Any]
SHAPES = {1: ((4, 3), (3, 3, 3), (2, 3, 5)), 2: ((4, 3, 2, 5), (2, 3, 3, 3), (3, 3, 2, 2))}
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"eps": 0.5, "momentum": 0.3},
    {"momentum": None},
    {"momentum": 0.0, "eps": 0.5},
    {"affine": False},
    {"track_running_stats": False, "eps": 0.5},
    {"affine": False, "track_running_stats": False},
)


class _Watch:
    """Writes down values under labels; an exception is a value too."""

    def __init__(self) -> None:
        self.record: Record = {}

    def note(self, label: str, action: Callable[[], Any]) -> Any:
        try:
            self.record[label] = value = action()
        except Exception as error:
            self.record[label] = ValueError if isinstance(error, ValueError) else type(error)
            return None
        return value

    def state(self, label: str, m: nn.Module) -> None:
        self.note(f"{label}: kinds", lambda: _kinds(m))
        for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            self.note(f"{label}: {name}", lambda name=name: _copy(getattr(m, name)))

    def step(self, label: str, m: nn.Module, x: torch.Tensor, wants_grad: bool = True) -> None:
        x = x.detach().requires_grad_(wants_grad)  # a clone would lose the strides
        before = x.detach().clone()
        m.zero_grad()
        y = self.note(f"{label}: y", lambda: m(x))
        self.record[f"{label}: x unchanged"] = torch.equal(x.detach(), before)
        if isinstance(y, torch.Tensor):
            self.record[f"{label}: y"] = y.detach().clone()
            if y.requires_grad:
                upstream = drawn(label + "upstream", tuple(y.shape), y.dtype, 0.5)
                self.note(f"{label}: backward", lambda: y.backward(upstream))
                self.record[f"{label}: x.grad"] = x.grad
                self.note(f"{label}: grads", lambda: {k: _copy(p.grad) for k, p in m.named_parameters()})
        self.state(label, m)


def _copy(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _kinds(m: nn.Module) -> tuple[Any, ...]:
    graph = [name for name, buffer in m.named_buffers() if buffer.requires_grad]
    trained = sorted(name for name, parameter in m.named_parameters() if parameter.requires_grad)
    return sorted(dict(m.named_parameters())), trained, sorted(dict(m.named_buffers())), sorted(m.state_dict()), graph


def _set(m: nn.Module, label: str) -> None:
    with torch.no_grad():
        for name in ("weight", "bias", "running_mean", "running_var"):
            there = getattr(m, name, None)
            if there is not None:
                new = drawn(label + name, tuple(there.shape), there.dtype)
                there.copy_(new.abs() + 0.5 if name == "running_var" else new)


def watch_layer(cls: Any, dims: int) -> Record:
    """Everything the contract says about a layer, seen on one class."""
    w = _Watch()
    shapes = SHAPES[dims]
    for number, options in enumerate(OPTIONS):
        for dtype in (torch.float64, torch.float32) if number < 2 else (torch.float64,):
            label = f"{options} {dtype}"
            m = w.note(f"{label}: built", lambda options=options: cls(3, **options))
            w.record[f"{label}: built"] = isinstance(m, nn.Module)
            if not isinstance(m, nn.Module):
                continue
            w.state(f"{label}: fresh", m)
            m.to(dtype)
            _a_life(w, m, label, shapes, dtype)
    _special(w, cls, dims)
    return w.record


def _a_life(w: _Watch, m: nn.Module, label: str, shapes: tuple[tuple[int, ...], ...], dtype: torch.dtype) -> None:
    w.step(f"{label} 1st", m, drawn(label, shapes[0], dtype))
    w.note(f"{label} set", lambda: _set(m, label))
    for number, shape in enumerate(shapes):
        w.step(f"{label} train {number}", m, drawn(f"{label}{number}", shape, dtype))
    m.eval()
    w.record[f"{label} training"] = m.training
    for number, shape in enumerate(shapes):
        w.step(f"{label} eval {number}", m, drawn(f"{label}e{number}", shape, dtype))
    one = (1, 3, *[1] * (len(shapes[0]) - 2))
    w.step(f"{label} eval one", m, drawn(f"{label}one", one, dtype))
    m.train()
    w.step(f"{label} train again", m, drawn(f"{label}again", shapes[0], dtype))
    w.step(f"{label} train one", m, drawn(f"{label}one", one, dtype))
    w.step(f"{label} no gradient", m, drawn(f"{label}n", shapes[2], dtype), wants_grad=False)
    w.note(f"{label} copied", lambda: w.step(f"{label} copy", copy.deepcopy(m), drawn(label, shapes[1], dtype)))
    with torch.no_grad():
        w.step(f"{label} no_grad", m, drawn(f"{label}ng", shapes[1], dtype), wants_grad=False)
        m.training = False
        w.step(f"{label} flag off", m, drawn(f"{label}off", shapes[1], dtype), wants_grad=False)


def _special(w: _Watch, cls: Any, dims: int) -> None:
    shapes = SHAPES[dims]
    space = [1] * dims if dims == 2 else []

    def fresh(c: int = 3, *args: Any, **kwargs: Any) -> nn.Module:
        return cls(c, *args, **kwargs).double()

    def watched(label: str, m: Callable[[], nn.Module], x: torch.Tensor, wants_grad: bool = True) -> None:
        w.note(label, lambda: w.step(label, m(), x, wants_grad))

    watched("by position", lambda: fresh(3, 0.5, 0.3, True, True), drawn("p", shapes[0]))
    watched("one channel", lambda: fresh(1), drawn("c", (4, 1, *shapes[0][2:])))
    watched("two rows", lambda: fresh(), drawn("two", (2, 3, *space)))
    watched("constant", lambda: fresh(), torch.full(shapes[0], 2.5, dtype=torch.float64))
    watched("float32 offset", lambda: cls(3), drawn("o", (8, *shapes[0][1:]), torch.float32, loc=1000.0))
    watched("one sample, several places", lambda: fresh(), drawn("s", (1, 3, 4) if dims == 1 else (1, 3, 2, 2)))
    for x in (drawn("l0", shapes[0]), drawn("l1", shapes[2])):
        for name, strided in layouts(x):
            watched(f"{name} {tuple(x.shape)}", lambda: fresh(), strided)
            watched(f"{name} {tuple(x.shape)} eval", lambda: fresh().eval(), strided)
    for shape in (
        (3,),
        (2,),
        (4, 3),
        (4, 3, 2),
        (3, 4, 2),
        (4, 3, 2, 2),
        (3, 3, 2, 2, 2),
        (4, 5, *space),
        (4, 1, *space),
    ):
        if len(shape) not in TRUTH[dims].ranks or shape[1] != 3:
            for mode in (True, False):
                watched(f"refuse {shape} {mode}", lambda mode=mode: fresh().train(mode), drawn("r", shape))
    for frozen in ("weight", "bias"):
        m = w.note(f"frozen {frozen}", lambda: fresh())
        if isinstance(m, nn.Module):
            w.note(f"freeze {frozen}", lambda m=m, frozen=frozen: getattr(m, frozen).requires_grad_(False) is not None)
            w.record[f"frozen {frozen}"] = True
            w.step(f"frozen {frozen}", m, drawn("f", shapes[0]))
    _as_a_module(w, fresh, dims)


def _as_a_module(w: _Watch, fresh: Callable[..., nn.Module], dims: int) -> None:
    """Hooks, containers, state dictionaries."""
    x = drawn("module", SHAPES[dims][0])

    def hooked() -> int:
        calls: list[int] = []
        m = fresh()
        m.register_forward_hook(lambda *_: calls.append(1))
        nn.Sequential(m)(x)
        return len(calls)

    def in_a_model() -> torch.Tensor:
        model = nn.Sequential(fresh())
        model(x)
        return model.eval()(x).detach()

    def loaded(momentum: float | None) -> list[torch.Tensor]:
        old, new = TRUTH[dims](3, momentum=momentum).double(), fresh(3, momentum=momentum)
        _set(old, "loaded")
        old.num_batches_tracked.fill_(3)
        new.load_state_dict(old.state_dict(), strict=True)
        new(x)
        back = TRUTH[dims](3).double()
        back.load_state_dict(new.state_dict(), strict=True)
        return [back.eval()(x).detach(), new.eval()(x).detach(), back.running_var, back.num_batches_tracked]

    w.note("hooks", hooked)
    w.note("in a model", in_a_model)
    w.note("loaded", lambda: loaded(0.1))
    w.note("loaded, average", lambda: loaded(None))


def watch_backward(function: Any) -> Record:
    """Everything the contract says about batch_norm_backward, seen on one function."""
    w = _Watch()
    double, single = torch.float64, torch.float32
    cases = [((4, 3), e, double, 3.0, 1.0) for e in (None, 0.5)] + [
        ((3, 5), 0.1, double, -2.0, 1.0),
        ((2, 2), 1e-5, double, 0.0, 1.0),
        ((6, 1), 1e-5, single, 3.0, 1.0),
        ((8, 3), 1e-5, single, 100.0, 1.0),
        ((5, 3), 1e-5, double, 1.0, 0.01),
        ((4, 3), 1e-3, double, 0.0, 0.0),
    ]
    for shape, eps, dtype, loc, scale in cases:
        label = f"{shape} {eps} {dtype} {loc} {scale}"
        x = drawn(label, shape, dtype, loc) * scale
        grad, weight = drawn(label + "g", shape, dtype, 0.5), drawn(label + "w", shape[1:], dtype) - 1.5
        asked = [("", x, grad)]
        asked += [(n, a, b) for (n, a), (_, b) in zip(layouts(x), layouts(grad), strict=True)]
        for name, a, b in asked:
            _one_call(w, f"{label} {name}", function, b, a, weight, *(() if eps is None else (eps,)))
    return w.record


def _one_call(w: _Watch, label: str, function: Any, *args: Any) -> None:
    before = [_copy(a) for a in args]
    w.note(label, lambda: tuple(function(*args)))
    w.record[f"{label} unchanged"] = all(
        torch.equal(a, b) for a, b in zip(before, args, strict=True) if isinstance(a, torch.Tensor)
    )
