"""A layer that is built at its first call: whether the constructor or the call refuses is all the same."""

from __future__ import annotations

import pytest
import torch

from autograder.probe.run import run
from autograder.trace.codec import dump_scenarios, load_scenarios
from autograder.trace.scenario import Build, Forward, Recipe, Scenario, State

ASKED = Scenario("refused", (Build("Layer", (3,), at_first_call=True), Forward(Recipe((2, 4)))))


class InConstructor(torch.nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        raise ValueError(f"no {size}")


class InCall(torch.nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.size == 3:
            raise ValueError(f"no {self.size}")
        return x


@pytest.mark.parametrize("layer", [InConstructor, InCall])
def test_both_refusals_are_seen_at_the_same_step(layer: type[torch.nn.Module]) -> None:
    """The contract of lab 3 allows either place."""
    first, second = run([ASKED], {"Layer": layer})[0].observations
    assert first.failure is None
    assert second.failure is not None
    assert (second.failure.type, second.failure.message) == ("ValueError", "no 3")


def test_a_layer_that_is_not_refused_is_built_once_and_called() -> None:
    """Later steps find the layer that the call has built."""
    steps = (Build("Layer", (4,), at_first_call=True), Forward(Recipe((2, 4))), Forward(Recipe((1, 4))), State())
    trace = run([Scenario("fine", steps)], {"Layer": InCall})[0]
    assert trace.failure is None
    assert "y" in trace.observations[1].seen


def test_it_travels() -> None:
    """The kernel is asked the same."""
    assert load_scenarios(dump_scenarios([ASKED])) == (ASKED,)
