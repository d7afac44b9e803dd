"""Two small parts of a scenario: sequences of integers of a given kind, and dtypes that are themselves the question."""

from __future__ import annotations

import torch

from autograder.checks.compare import Difference
from autograder.checks.render import code
from autograder.probe.run import run
from autograder.trace.codec import dump_scenarios, load_scenarios
from autograder.trace.scenario import Call, Recipe, Scenario, Sizes, in_dtype

SIZES = (Sizes("list", (2, 3)), Sizes("Size", (4,)), (5, 6))


def test_sizes_arrive_as_what_they_are_called() -> None:
    """A list is a list and a torch.Size a torch.Size in the kernel, also after the way there."""
    scenarios = load_scenarios(dump_scenarios([Scenario("kinds", (Call("kinds", SIZES),))]))
    (trace,) = run(scenarios, {"kinds": lambda *given: ", ".join(f"{type(g).__name__} {list(g)}" for g in given)})
    assert trace.observations[0].seen["result"] == "list [2, 3], Size [4], tuple [5, 6]"


def test_sizes_are_shown_as_code() -> None:
    """What a student pastes builds the same argument."""
    text = code(Scenario("kinds", (Call("f", SIZES),)), Difference(0, "result", "value", "it differs"))
    assert "[2, 3],\n    torch.Size([4]),\n    (5, 6)," in text


def test_a_scenario_about_its_dtype_keeps_it() -> None:
    """own_dtype survives the way, and such a scenario is its own truth; others are moved."""
    x = Recipe((2,), 7, dtype="float32")
    own, other = Scenario("own", (Call("f", (x,)),), own_dtype=True), Scenario("other", (Call("f", (x,)),))
    assert load_scenarios(dump_scenarios([own, other])) == (own, other)
    assert in_dtype(own, "float64") == own
    traces = run([in_dtype(s, "float64") for s in (own, other)], {"f": lambda given: torch.finfo(given.dtype).eps})
    assert [t.observations[0].seen["result"] for t in traces] == [2.0**-23, 2.0**-52]
