"""What functions that measure models may do, and what they may not leave behind: torch.func runs, settings are watched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from autograder.probe.run import run
from autograder.trace.network import Network
from autograder.trace.scenario import Call, Recipe, Scenario
from autograder.trace.trace import Trace

NET = Network((("linear", 3, 4), ("batch_norm", 4, 0.3), ("relu",), ("linear", 4, 2)), seed=3)
X = Recipe((5, 3), seed=1)


def ran(function: Any, network: Network = NET) -> Trace:
    """The trace of one call on a model and inputs."""
    return run([Scenario("one call", (Call("f", (network, X)),))], {"f": function})[0]


def test_torch_func_runs_and_is_noted_as_autograd() -> None:
    """It refuses to run under the watch, so it runs once more without; a check that forbids autograd still sees it."""

    def slopes(model: nn.Module, x: Tensor) -> Tensor:
        def loss(parameters: dict[str, Tensor]) -> Tensor:
            return torch.func.functional_call(model.eval(), parameters, (x,)).square().sum()

        return torch.func.grad(loss)({name: p.detach() for name, p in model.named_parameters()})["0.weight"]

    trace = ran(slopes)
    assert trace.failure is None
    assert trace.autograd
    assert trace.observations[0].seen["result"].shape == (4, 3)  # type: ignore[union-attr]


def test_an_error_of_the_function_itself_is_not_tried_again() -> None:
    """One call, one failure: a function with side effects must not run twice."""
    calls = []

    def fails(model: nn.Module, x: Tensor) -> None:
        calls.append(1)
        raise RuntimeError("mine")

    trace = ran(fails)
    assert trace.failure is not None
    assert trace.failure.message == "mine"
    assert len(calls) == 1


def test_a_momentum_that_is_not_put_back_is_seen() -> None:
    """In a model that is only looked at, and in one that is to change."""

    def forget(model: nn.Module, x: Tensor) -> None:
        model[1].momentum = None  # type: ignore[index]

    assert ran(forget).observations[0].seen["argument 0 keeps its numbers"] is False
    changed = ran(forget, replace(NET, changes=True)).observations[0].seen
    assert changed["argument 0 keeps its momentum"] is False
    assert changed["argument 0 keeps its requires_grad"] is True


def test_a_frozen_parameter_of_a_model_that_is_to_change_is_seen() -> None:
    """Its numbers are looked at otherwise, and they are right."""

    def freeze(model: nn.Module, x: Tensor) -> None:
        model.requires_grad_(False)

    changed = ran(freeze, replace(NET, changes=True)).observations[0].seen
    assert changed["argument 0 keeps its requires_grad"] is False
    assert changed["argument 0 keeps its momentum"] is True


def test_a_model_of_the_grader_has_been_trained_before() -> None:
    """Its count of batches is not 0, so that an average that goes on from it shows."""
    count = ran(lambda model, x: model[1].num_batches_tracked).observations[0].seen["result"]
    assert count.array == 7  # type: ignore[union-attr]
