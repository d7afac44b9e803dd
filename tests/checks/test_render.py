"""The code in a report runs as it stands, below the student's own, and shows what the report says."""

from __future__ import annotations

import contextlib
import io
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from autograder.checks import render
from autograder.checks.check import Check, Mistake
from autograder.checks.compare import Difference, differences
from autograder.grading.judge import Judge, namespace
from autograder.probe.arguments import real
from autograder.trace.scenario import Backward, Build, Call, Forward, Mode, Put, Recipe, Reload, Scenario, State, draw
from autograder.trace.trace import Seen, Tensor
from solutions.lab01_batch_norm.checks import LAB

SEED = 5
SAMPLE = LAB.mistakes[::7]


@cache
def judge() -> Judge:
    """The judge of lab 1."""
    return Judge(LAB, SEED)


def executed(code: str, names: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Run a report's code in a notebook that holds some names; return what it holds then, and what was printed."""
    printed = io.StringIO()
    held = dict(names)
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "<report>", "exec"), held)
    return held, printed.getvalue()


def shown(code: str, names: dict[str, Any]) -> Any:
    """The value of the last thing that the code prints."""
    lines = code.split("\n")
    last = max(i for i, line in enumerate(lines) if line.startswith("print("))
    held, printed = executed(code, names)
    assert printed != ""
    return eval(lines[last].removeprefix("print(").removesuffix(")"), held)


def same(value: Any, seen: Seen) -> bool:
    """Tell whether code shows what a trace shows, to the six digits that are written out."""
    if isinstance(seen, Tensor):
        a, b = value.detach().to(torch.float64).numpy(), seen.array.astype(float)
        if a.shape != b.shape:
            return False
        return bool(np.allclose(a, b, rtol=2e-3, atol=2e-3 * np.nanmax(np.abs(b), initial=0.0), equal_nan=True))
    return value is None if seen is None else bool(value == seen)


REFERENCE = [
    pytest.param(check, place, id=f"{check.name}, {scenario.name}")
    for check in LAB.checks
    for place, scenario in enumerate(judge().scenarios(check))
]


@pytest.mark.parametrize(("check", "place"), REFERENCE)
def test_the_code_of_every_scenario_runs(check: Check, place: int) -> None:
    """With the reference in scope it shows the reference's numbers, at every address that code can name."""
    scenario, trace = judge().scenarios(check)[place], judge().expected(check)[place].trace
    last = len(trace.observations) - 1
    names = dict(LAB.reference)
    if trace.failure is not None:
        with pytest.raises(ValueError, match=r"."):
            executed(render.code(scenario, Difference(last, "", "failure", "x")), names)
        return
    addresses = [address for address in trace.observations[last].seen if render.SHOWN.match(address)]
    for address in addresses:
        seen = trace.observations[last].seen[address]
        if getattr(seen, "type", "") != "missing":
            value = shown(render.code(scenario, Difference(last, address, "value", "x")), names)
            assert same(value, seen), (address, value, seen)
    executed(render.code(scenario, Difference(last, "parameters", "value", "x")), names)


@pytest.mark.parametrize("mistake", [pytest.param(mistake, id=mistake.id) for mistake in SAMPLE])
def test_the_code_shows_the_mistake(mistake: Mistake) -> None:
    """With a mistake in scope, at the step that fails: the same exception, or the same wrong numbers."""
    names = namespace(mistake.source, mistake.id)
    check = LAB.check(mistake.check)
    for place, scenario in enumerate(judge().scenarios(check)):
        trace = judge().mistaken(mistake, check, place)
        found = next(differences(judge().expected(check)[place], trace, check.looks_at), None)
        if found is None:
            continue
        code = render.code(scenario, found)
        failure = trace.observations[found.step].failure if found.step < len(trace.observations) else None
        if failure is not None:
            with pytest.raises(BaseException) as caught:  # noqa: PT011 - the name is compared
                executed(code, names)
            assert type(caught.value).__name__ == failure.type
        elif render.SHOWN.match(found.address):
            seen = trace.observations[found.step].seen.get(found.address)
            if found.kind in ("value", "shape"):
                assert same(shown(code, names), seen), code
        else:
            executed(code, names)


@pytest.mark.parametrize(("check", "place"), REFERENCE)
def test_a_report_is_short(check: Check, place: int) -> None:
    """A student reads it on one screen, and the difference is its last line."""
    scenario = judge().scenarios(check)[place]
    code = render.code(scenario, Difference(len(scenario.steps) - 1, "y", "value", "y should be 1; it is 2"))
    assert len(code.split("\n")) <= render.REPORT_LINES
    assert code.split("\n")[-1] == "# y should be 1; it is 2"
    assert max(map(len, code.split("\n"))) < 400


def test_it_ends_at_the_step_that_differs() -> None:
    """What comes after would only confuse."""
    steps = (Build("M", (2,)), Forward(Recipe((3, 2))), State(), Call("never"))
    code = render.code(Scenario("s", steps), Difference(1, "y", "value", "y is off"))
    assert code.split("\n")[-2:] == ["print(y)", "# y is off"]
    assert "never" not in code


def test_nothing_is_printed_that_is_no_code() -> None:
    """'x is unchanged' is a sentence."""
    steps = (Build("M", (2,)), Forward(Recipe((3, 2))))
    code = render.code(Scenario("s", steps), Difference(1, "x is unchanged", "value", "x is off"))
    assert "print" not in code


def test_large_tensors_are_drawn() -> None:
    """By the recipe, so that the very same numbers come out."""
    recipe = Recipe((20, 30), 7, scale=2.0, dtype="float32", through="float32")
    code = render.code(Scenario("s", (Call("f", (recipe,)),)), Difference(0, "result", "value", "x"))
    assert "from autograder.trace.scenario import Recipe, draw" in code
    assert np.array_equal(shown(code, {"f": lambda x: x}).numpy(), draw(recipe))


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided", "channels_last"])
@pytest.mark.parametrize("shape", [(4,), (3, 2), (2, 3, 4), (2, 3, 4, 5), (0, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_a_tensor_lies_in_memory_as_in_the_scenario(layout: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Or a failing `view` would not fail in the report's code."""
    recipe = Recipe(shape, 3, layout=layout, dtype=dtype)
    code = render.code(Scenario("s", (Call("f", (recipe,)),)), Difference(0, "result", "value", "x"))
    made, probed = shown(code, {"f": lambda x: x}), real(recipe)
    assert made.dtype == probed.dtype
    assert made.stride() == probed.stride() or made.numel() == 0
    assert torch.allclose(made.to(torch.float64), probed.to(torch.float64), rtol=1e-5)


def test_a_reload_builds_the_same_layer_again() -> None:
    """With the same arguments and dtype, in the same mode."""
    steps = (Build("M", (2,), {"eps": 0.5}, "float64", child=True), Mode(False), Reload(), Forward(Recipe((3, 2))))
    code = render.code(Scenario("s", steps), Difference(3, "y", "value", "x"))
    assert "fresh = M(2, eps=0.5).to(torch.float64)" in code
    held, _ = executed(code, {"M": torch.nn.BatchNorm1d})
    assert held["net"][0] is held["m"]
    assert held["m"] is held["fresh"]
    assert not held["m"].training


def test_a_moved_attribute_is_an_assignment() -> None:
    """As a training loop writes it."""
    steps = (Build("M", (2,), dtype="float64"), Forward(Recipe((3, 2))), Put("r_max", 1.5), Forward(Recipe((3, 2))))
    code = render.code(Scenario("s", steps), Difference(3, "y", "value", "x"))
    assert "\nm.r_max = 1.5\n" in code
    held, _ = executed(code, {"M": torch.nn.BatchNorm1d})
    assert held["m"].r_max == 1.5


def test_a_late_backward_goes_through_the_earlier_output() -> None:
    """As in the probe."""
    steps = (
        Build("M", (2,), dtype="float64"),
        Forward(Recipe((3, 2), 1), later=True),
        Forward(Recipe((4, 2), 2)),
        Backward(Recipe((3, 2), 3)),
    )
    code = render.code(Scenario("s", steps), Difference(3, "x.grad", "value", "x"))
    assert shown(code, {"M": torch.nn.BatchNorm1d}).shape == (3, 2)
