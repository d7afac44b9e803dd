"""A rehearsal of the probe in the template, on a layer of its own, so that no fork does what each of them would do first.

Python rewrites a function while it is called for the first times, and keeps what it has found out about classes; torch loads what
it needs. Each fork of a template would do so again, and copy a page of memory wherever it writes. What is rehearsed has nothing
to do with the questions of any lab: none of them lies in a kernel before its turn.
"""

from __future__ import annotations

from typing import Any

import torch

from autograder.probe.serve import answer, question, request
from autograder.trace.look import Look
from autograder.trace.scenario import Build, Call, Forward, Freeze, Load, Mode, Recipe, Reload, Scenario, State, Value

TIMES = 20  # Python rewrites what has been called some eight times

X, WEIGHT = Recipe((3, 2), 1), Recipe((2,), 2)
SCENARIOS = (
    Scenario(
        "a layer",
        (
            Build("Layer", (2,), {"scale": 2.0}, dtype="float64"),
            Load({"weight": WEIGHT, "running_mean": WEIGHT}, fill=True),
            Mode(training=True),
            Forward(X, grad=X),
            State(),
            Mode(training=False),
            Forward(X, grad_enabled=False),
        ),
    ),
    Scenario(
        "a layer in a model",
        (
            Build("Layer", (2,), dtype="float32", child=True),
            Freeze(("weight",)),
            Forward(Recipe((3, 2), 1, dtype="float32")),
            Reload(),
            Reload(copy=True),
        ),
    ),
    Scenario("an error", (Build("Layer", (2,), at_first_call=True), Forward(Recipe((3, 3), 1)))),
    Scenario("a function", (Call("function", (X, (WEIGHT, 2)), {"scale": 0.5}),)),
    Scenario("a value", (Value("number"),)),
)
LOOK = Look(("y", "x.grad", "m.*", "parameters", "shape of *", "kind of *", "result*", "number"))


class _Layer(torch.nn.Module):
    running_mean: torch.Tensor

    def __init__(self, features: int, scale: float = 1.0) -> None:
        super().__init__()
        self.features, self.scale = features, scale
        self.weight = torch.nn.Parameter(torch.ones(features))
        self.bias = torch.nn.Parameter(torch.zeros(features))
        self.register_buffer("running_mean", torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[1] != self.features:
            raise ValueError("another number of features")
        if self.training:
            with torch.no_grad():
                self.running_mean.lerp_(x.mean(0), 0.1)
        else:
            x = x - self.running_mean
        return x * self.weight * self.scale + self.bias


def _function(x: torch.Tensor, more: tuple[torch.Tensor, int], scale: float) -> tuple[torch.Tensor, dict[str, Any]]:
    return x * scale, {"mean": x.mean(), "more": more[1]}


def rehearse() -> bytes:
    """Answer a made-up request, a few times over, and return the last answer."""
    names: dict[str, Any] = {"Layer": _Layer, "function": _function, "number": 3.0}
    asked = request(question(SCENARIOS, [LOOK] * len(SCENARIOS)))
    return [answer(asked, names) for _ in range(TIMES)][-1]
