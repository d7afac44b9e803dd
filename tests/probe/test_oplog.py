"""The log sees torch's own normalization however it is called, and torch's autograd where it did the work; nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from autograder.probe.oplog import OperatorLog, inherited, listening, watching_autograd
from autograder.probe.run import run
from autograder.trace.scenario import Build, Call, Forward, Recipe, Scenario
from autograder.trace.trace import Trace

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
W, B = torch.rand(3), torch.rand(3)


def logged(call: Callable[[], Any]) -> str:
    """The names that a call leaves in the log, as one text."""
    log = OperatorLog()
    with listening(log):
        call()
    return " ".join(log.operators)


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda: nn.BatchNorm1d(3)(X), "native_batch_norm"),
        (lambda: nn.BatchNorm1d(3).eval()(X), "batch_norm"),
        (lambda: nn.BatchNorm2d(3)(X.reshape(4, 3, 1, 1)), "native_batch_norm"),
        (lambda: nn.LazyBatchNorm1d()(X), "batch_norm"),
        (lambda: F.batch_norm(X, W, B, training=True), "batch_norm"),
        (lambda: torch.batch_norm(X, W, B, None, None, True, 0.1, 1e-5, False), "batch_norm"),
        (lambda: torch.native_batch_norm(X, W, B, None, None, True, 0.1, 1e-5), "native_batch_norm"),
        (lambda: torch.ops.aten.native_batch_norm(X, W, B, None, None, True, 0.1, 1e-5), "native_batch_norm"),
        (lambda: torch.ops.aten._native_batch_norm_legit(X, W, B, True, 0.1, 1e-5), "_native_batch_norm_legit"),
        (lambda: getattr(torch.ops.aten, "native_" + "batch_norm")(X, W, B, None, None, True, 0.1, 1e-5), "batch_norm"),
        (lambda: nn.LayerNorm(3)(X), "layer_norm"),
        (lambda: F.layer_norm(X.t(), (4,)).t(), "layer_norm"),
        (lambda: torch.native_layer_norm(X, (3,), W, B, 1e-5), "native_layer_norm"),
        (lambda: nn.GroupNorm(3, 3)(X), "group_norm"),
        (lambda: F.group_norm(X.reshape(1, 3, 4), 3), "group_norm"),
        (lambda: nn.InstanceNorm1d(3)(X.reshape(1, 3, 4)), "instance_norm"),
        (lambda: F.rms_norm(X, (3,)), "rms_norm"),
        (lambda: nn.RMSNorm(3)(X), "rms_norm"),
        (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))(X), "weight_norm"),
        (lambda: nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))(X), "batch_norm"),
    ],
)  # fmt: skip
def test_a_built_in_operator_is_logged(call: Callable[[], Any], part: str) -> None:
    """By class, by function, by operator, by a name that was put together."""
    assert part in logged(call)


@pytest.mark.parametrize(
    "call",
    [
        lambda: (X - X.mean(0)) / (X.var(0, unbiased=False) + 1e-5).sqrt(),
        lambda: torch.var_mean(X, 0),
        lambda: torch.std_mean(X, 0),
        lambda: torch.linalg.norm(X),
        lambda: F.normalize(X),
        lambda: X.norm(dim=0),
        lambda: torch.renorm(X, 2, 0, 1),
        lambda: torch.einsum("nc,c->nc", X, W),
        lambda: F.linear(X, torch.ones(2, 3)),
        lambda: nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Dropout(0.1))(X),
    ],
)
def test_ordinary_arithmetic_is_not_logged(call: Callable[[], Any]) -> None:
    """What a hand-written layer is made of."""
    assert logged(call) == ""


def test_a_name_is_logged_once() -> None:
    """A report lists operators, not calls."""
    log = OperatorLog()
    with listening(log):
        for _ in range(3):
            F.batch_norm(X, W, B, training=True)
    assert len(log.operators) == len(set(log.operators))


# --- autograd --------------------------------------------------------------------------------------------------------------


def by_hand(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The gradient of (x**2 * x).sum(), by the rule."""
    return grad * 3 * x**2


def by_grad(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    x = x.detach().requires_grad_()
    return torch.autograd.grad(x**2 * x, x, grad)[0]


def by_backward(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    x = x.detach().requires_grad_()
    (x**2 * x).backward(grad)
    assert x.grad is not None
    return x.grad


def by_vjp(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.autograd.functional.vjp(lambda v: v**2 * v, x, grad)[1]


def by_jacobian(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.autograd.functional.jacobian(lambda v: (v**2 * v * grad).sum(), x)


def by_func_vjp(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.func.vjp(lambda v: v**2 * v, x)[1](grad)[0]


def by_func_grad(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.func.grad(lambda v: (v**2 * v * grad).sum())(x)


def by_jacrev(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.func.jacrev(lambda v: (v**2 * v * grad).sum())(x)


def with_a_graph(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """By hand, on a tensor that happens to need a gradient: a graph is built, and never read."""
    return by_hand(grad, x.detach().requires_grad_()).detach()


def autograd_seen(function: Callable[..., Any]) -> Trace:
    call = Call("f", (Recipe((3, 2), 1), Recipe((3, 2), 2)))
    return run([Scenario("s", (call,))], {"f": function})[0]


@pytest.mark.parametrize(
    "function",
    [by_grad, by_backward, by_vjp, by_jacobian, by_func_vjp, by_func_grad, by_jacrev],
    ids=lambda f: f.__name__,
)
def test_autograd_is_seen(function: Callable[..., Any]) -> None:
    """Whichever of its doors a function under test goes through."""
    assert autograd_seen(function).autograd


@pytest.mark.parametrize("function", [by_hand, with_a_graph], ids=lambda f: f.__name__)
def test_a_hand_written_backward_is_not_taken_for_autograd(function: Callable[..., Any]) -> None:
    """Also where a graph was built by the way."""
    trace = autograd_seen(function)
    assert trace.failure is None
    assert not trace.autograd


def test_a_layer_may_use_autograd() -> None:
    """The watch is over functions only: a module's backward pass is torch's business."""
    x = Recipe((3, 2), 1, dtype="float32")
    trace = run([Scenario("s", (Build("L", (2, 2)), Forward(x, x)))], {"L": nn.Linear})[0]
    assert not trace.autograd


def test_the_watch_ends_with_its_block() -> None:
    """A backward pass after it is nobody's offence."""
    log = OperatorLog()
    x = torch.ones(2, requires_grad=True)
    with watching_autograd(log):
        pass
    (x**2).sum().backward()
    assert not log.unpacked


# --- inheritance -----------------------------------------------------------------------------------------------------------


class Mine(nn.Module):
    """A layer of one's own."""


@pytest.mark.parametrize(
    ("base", "named"),
    [
        (nn.BatchNorm1d, "torch.nn.BatchNorm1d"),
        (nn.BatchNorm2d, "torch.nn.BatchNorm2d"),
        (nn.SyncBatchNorm, "torch.nn.SyncBatchNorm"),
        (nn.LayerNorm, "torch.nn.LayerNorm"),
        (nn.GroupNorm, "torch.nn.GroupNorm"),
        (nn.RMSNorm, "torch.nn.RMSNorm"),
        (nn.InstanceNorm2d, "torch.nn.InstanceNorm2d"),
        (nn.modules.batchnorm._NormBase, "torch.nn._NormBase"),
    ],
)
def test_inheritance_is_seen(base: type, named: str) -> None:
    """Directly and through a class between."""
    between = type("Between", (base,), {})
    assert named in inherited(type("BatchNorm1d", (between,), {}))


@pytest.mark.parametrize("base", [nn.Module, nn.Linear, Mine, nn.Sequential])
def test_other_inheritance_is_no_offence(base: type) -> None:
    """A name of torch's for a class of one's own is none either."""
    assert inherited(type("BatchNorm1d", (base,), {})) == ()
