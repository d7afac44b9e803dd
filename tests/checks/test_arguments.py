"""The arguments of a scenario as code: what a student pastes makes the very same models and tensors."""

from __future__ import annotations

import pytest
import torch

from autograder.checks import render
from autograder.checks.compare import Difference
from autograder.probe.run import run
from autograder.trace.network import Maker, Network
from autograder.trace.scenario import Call, Recipe, Scenario

NET = Network((("linear", 4, 3), ("batch_norm", 3)), seed=5, training=False)


@pytest.mark.parametrize(
    "args",
    [
        (NET, Recipe((3, 4))),
        ({"a": NET, "b": Network((("layer_norm", 4),), 2**39, "float32")}, Recipe((3, 4), dtype="float32")),
        (Maker(NET), (Recipe((2, 4)), Recipe((9, 4)))),
        ((Recipe((2, 4)),), None, "text", (1, 2), ()),
    ],
)
def test_pasted_code_gives_the_function_what_the_grader_gave_it(args: tuple[object, ...]) -> None:
    """Down to the bits, apart from tensors that are written out to six digits."""
    scenario = Scenario("one call", (Call("f", args),))  # type: ignore[arg-type]
    given: list[object] = []
    run([scenario], {"f": lambda *got: given.append(got)})
    exec(render.code(scenario, Difference(0, "", "value", "wrong")), {"f": lambda *got: given.append(got)})
    assert same(*given)


def same(a: object, b: object) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.dtype == b.dtype and torch.allclose(a, b, rtol=1e-5, atol=1e-5)
    if isinstance(a, torch.nn.Module) and isinstance(b, torch.nn.Module):
        return str(a) == str(b) and a.training == b.training and same(dict(a.state_dict()), dict(b.state_dict()))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if callable(a) and callable(b):
        return same(a(3), b(3))
    return a == b
