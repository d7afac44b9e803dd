"""The checks of the example lab: what is asked, with which numbers, for how many points. `LAB` is all that the grader loads."""

from __future__ import annotations

import torch

from autograder.checks.check import Check, Draw, Lab
from autograder.trace.scenario import Call, Recipe, Scenario, Value
from solutions.lab90_unit_length.mistakes import MISTAKES


def unit_length(x: torch.Tensor, eps: float = 1e-12) -> torch.Tensor:
    """Return x / max(|x|, eps) row by row: x (N, C) -> (N, C)."""
    return x / x.square().sum(dim=1, keepdim=True).sqrt().clamp(min=eps)


def call(name: str, x: Recipe, *eps: float) -> Scenario:
    """One question: the function, called on a tensor."""
    return Scenario(name, (Call("unit_length", (x, *eps)),))


def prediction(draw: Draw) -> tuple[Scenario, ...]:
    """The value of a variable in the notebook."""
    return (Scenario("the prediction", (Value("predicted_first"),)),)


def rows(draw: Draw) -> tuple[Scenario, ...]:
    """Unequal N and C, one that is equal, since there the columns raise no error, and one column alone."""
    return tuple(
        call(f"x of shape ({n}, {c})", draw.tensor(n, c, loc=1.0, scale=2.0)) for n, c in ((2, 3), (3, 3), (4, 1))
    )


def floor(draw: Draw) -> tuple[Scenario, ...]:
    """Rows above the floor, below it, and without any length."""
    return (
        call("eps 0.5, longer rows", draw.tensor(2, 3, loc=2.0), 0.5),
        call("eps 0.5, shorter rows", draw.tensor(3, 2, scale=0.05), 0.5),
        call("a row of zeros", Recipe((2, 2), values=(0.0, 0.0, 3.0, 4.0))),
    )


def manners(draw: Draw) -> tuple[Scenario, ...]:
    """The other dtype, another layout in memory, arguments by keyword; x must stay as it is."""
    x = draw.tensor(2, 3)
    return (
        call("float32", draw.tensor(3, 2, loc=1.0, dtype="float32")),
        call("a transposed input", draw.tensor(3, 4, loc=1.0, layout="transposed")),
        Scenario("arguments by keyword", (Call("unit_length", (), {"x": x, "eps": 1e-9}),)),
    )


LAB = Lab(
    name="lab90_unit_length",
    title="Rows of unit length",
    contract=("unit_length",),
    checks=(
        Check(
            "unit-predict",
            "predicted_first",
            1,
            "the first number of (3, 4) at unit length",
            prediction,
            contract=False,  # a variable of the notebook; a plain file is not asked for it
            tolerance=0.006,  # two decimals, rounded either way
            secret=True,  # practice must not give the answer away
        ),
        Check("unit-rows", "unit_length", 3, "each row has length 1", rows, ("result",)),
        Check("unit-floor", "unit_length", 2, "eps is a floor under the length", floor, ("result",)),
        Check("unit-manners", "unit_length", 2, "float32, strided, x left alone", manners, ("result", "argument *")),
    ),
    reference={"unit_length": unit_length, "predicted_first": 0.6},
    mistakes=MISTAKES,
)
