"""With a look, a trace holds what is read of it; what was done, and whatever failed, is the same."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from autograder.probe.run import run
from autograder.trace.codec import dump_traces
from autograder.trace.look import Look
from autograder.trace.network import Network
from autograder.trace.scenario import Build, Call, Forward, Load, Recipe, Scenario, State, Step, Value
from autograder.trace.trace import Observation, Trace

X, GRAD = Recipe((4, 3), 1), Recipe((4, 3), 2)
MODEL = Network((("linear", 3, 2), ("batch_norm", 2)), seed=3, gradients=True)
TRAINED = Network((("linear", 3, 2), ("batch_norm", 2)), seed=3, changes=True)


class Layer(nn.Module):
    """All that a State looks at."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, dtype=torch.float64))
        self.bias = nn.Parameter(torch.zeros(3, dtype=torch.float64))
        self.register_buffer("running_mean", torch.zeros(3, dtype=torch.float64))
        self.register_buffer("num_batches_tracked", torch.tensor(0))
        self.weight_g, self.weight_v = torch.ones(2, 1), torch.ones(2, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """An affine map."""
        return x * self.weight + self.bias


def nested(*given: Any) -> dict[str, Any]:
    """What has parts of parts."""
    return {"a": (torch.ones(2), [1, 2.5]), "b": None, "c": {"d": "text"}}


NAMES = {"Layer": Layer, "f": nested, "v": [1, (2, 3)]}
STEPS: dict[str, tuple[Step, ...]] = {
    "a layer": (
        Build("Layer"),
        State(),
        Load({"weight": Recipe((3,), 4)}, fill=True),
        Forward(X, grad=GRAD),
        State(),
    ),
    "a function": (Call("f", (X, MODEL), {"more": (TRAINED, MODEL)}),),
    "a value": (Value("v"),),
}
LOOKS = [
    (),
    ("y",),
    ("parameters",),
    ("state_dict keys", "buffers"),
    ("kind of *",),
    ("shape of m.weight", "m.bias"),
    ("* keeps a graph",),
    ("m.running_*", "x is unchanged"),
    ("x.grad",),
    ("m.*.grad",),
    ("weight_v has *", "weight_g holds *"),
    ("result[?a?]*", "v[1]"),
    ("result['c']['d']", "len(*)"),
    ("* is unchanged",),
    ("* keeps its *",),
    ("* keeps its numbers",),
    ("* keeps its gradients", "* keeps its mode"),
    ("*: *weight", "* keeps its momentum"),
    ("*model 0 keeps its hooks", "* keeps its requires_grad"),
    ("*",),
]


@pytest.mark.parametrize("keys", LOOKS, ids=" ".join)
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_it_is_the_whole_trace_without_what_nobody_reads(steps: tuple[Step, ...], keys: tuple[str, ...]) -> None:
    """Address by address."""
    whole, seen = traced(steps, None), traced(steps, Look(keys))
    look = Look(keys)
    left = [
        Observation({address: entry for address, entry in o.seen.items() if look.at(address)}, o.failure)
        for o in whole.observations
    ]
    assert dump_traces([seen]) == dump_traces([Trace(whole.scenario, tuple(left), whole.operators, whole.autograd)])


def test_a_backward_pass_that_fails_is_told_where_nobody_reads_gradients() -> None:
    """It runs all the same."""

    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
            raise RuntimeError("no gradient today")

    class Fails(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return Broken.apply(x)  # type: ignore[no-untyped-call]

    failure = traced((Build("Fails"), Forward(X, grad=GRAD)), Look(("y",)), Fails=Fails).failure
    assert failure is not None
    assert failure.message == "no gradient today"


def test_what_nobody_reads_is_not_looked_at() -> None:
    """A property that raises fails the steps that look at it, and those alone."""

    class Odd(nn.Module):
        @property
        def running_std(self) -> float:
            raise RuntimeError("not now")

    steps = (Build("Odd"), State())
    assert traced(steps, Look(("m.running_std",)), Odd=Odd).failure is not None
    assert traced(steps, Look(("m.weight",)), Odd=Odd).failure is None


def test_a_large_result_ends_where_it_would_have() -> None:
    """Whether its first parts are read or not: those after the most that is seen are not there."""
    wide = [[0] * 50 for _ in range(50)]
    whole = traced((Call("f"),), None, f=lambda: wide).observations[0].seen
    for address in ("result[2][49]", "result[3][0]"):
        seen = traced((Call("f"),), Look((address,)), f=lambda: wide).observations[0].seen
        assert (address in seen) == (address in whole)
    assert "result[2][49]" in whole
    assert "result[3][0]" not in whole


def traced(steps: tuple[Step, ...], look: Look | None, **names: Any) -> Trace:
    """The trace of one scenario."""
    return run([Scenario("s", steps)], {**NAMES, **names}, looks=None if look is None else [look])[0]
