"""Three small parts of a scenario: integers in a sequence of a given kind, lists of anything, dtypes that are the question."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from autograder.checks.compare import Difference
from autograder.checks.render import code
from autograder.probe.run import run
from autograder.trace.codec import dump_scenarios, load_scenarios
from autograder.trace.scenario import Call, Listed, Recipe, Scenario, Sizes, in_dtype, recipes

SIZES = (Sizes("list", (2, 3)), Sizes("Size", (4,)), (5, 6), Sizes("range", (7, 9)))
NAMED = "list [2, 3], Size [4], tuple [5, 6], range [7, 8]"


def test_sizes_arrive_as_what_they_are_called() -> None:
    """A list is a list and a torch.Size a torch.Size in the kernel, also after the way there."""
    scenarios = load_scenarios(dump_scenarios([Scenario("kinds", (Call("kinds", SIZES),))]))
    (trace,) = run(scenarios, {"kinds": lambda *given: ", ".join(f"{type(g).__name__} {list(g)}" for g in given)})
    assert trace.observations[0].seen["result"] == NAMED


def test_sizes_are_shown_as_code() -> None:
    """What a student pastes builds the same argument."""
    text = code(Scenario("kinds", (Call("f", SIZES),)), Difference(0, "result", "value", "it differs"))
    assert "[2, 3],\n    torch.Size([4]),\n    (5, 6),\n    range(7, 9)," in text


PAIRS = (Listed(((Recipe((2,), 1), Recipe((3,), 2)), Listed(("a",)))), (Recipe((2,), 1),))


def test_a_list_arrives_as_a_list_with_all_that_is_in_it() -> None:
    """Also inside of one another, after the way there, and in another dtype."""

    def told(*given: object) -> str:
        return repr([[type(given[0]).__name__, *(type(part).__name__ for part in given[0])], type(given[1]).__name__])  # type: ignore[attr-defined]

    scenario = in_dtype(Scenario("lists", (Call("told", PAIRS),)), "float32")
    (sent,) = load_scenarios(dump_scenarios([scenario]))
    assert sent == scenario
    assert [leaf.dtype for step in sent.steps for leaf in recipes(step)] == ["float32"] * 3
    assert run([sent], {"told": told})[0].observations[0].seen["result"] == "[['list', 'tuple', 'list'], 'tuple']"
    text = code(scenario, Difference(0, "result", "value", "it differs"))
    assert "['a']" in text
    exec(text, {"told": told})


def test_a_list_is_no_tuple() -> None:
    """Two scenarios that differ in nothing else are two."""
    assert Listed((1, 2)) != (1, 2) != Listed((1, 2))
    assert Listed((1, 2)) == Listed((1, 2)) != Listed((1, 3))
    assert len({Listed((1,)), (1,), Listed((1,))}) == 2


@pytest.mark.parametrize(
    ("change", "stays"),
    [
        (lambda given, by_name: None, True),
        (lambda given, by_name: list(given).pop(), True),
        (lambda given, by_name: given.pop(), False),
        (lambda given, by_name: given.append(given[0]), False),
        (lambda given, by_name: given.reverse(), False),
        (lambda given, by_name: given.__setitem__(0, given[0].clone()), False),
        (lambda given, by_name: by_name["inner"].clear(), False),
        (lambda given, by_name: by_name.pop("x"), False),
        (lambda given, by_name: by_name.update(x=2), False),
        (lambda given, by_name: by_name.update(x=by_name.pop("x"), inner=by_name.pop("inner")), False),
    ],
)
def test_lists_and_dictionaries_are_watched(change: Callable[..., object], stays: bool) -> None:
    """What is in them, in which order, at any depth; a copy may be emptied."""
    given = Listed((Recipe((2,), 1), Recipe((3,), 2)))
    by_name = {"inner": Listed((1, 2)), "x": 1}
    (trace,) = run([Scenario("s", (Call("change", (given, by_name)),))], {"change": lambda *a: (change(*a), None)[1]})
    seen = trace.observations[0].seen
    assert (seen["argument 0 is unchanged"] and seen["argument 1 is unchanged"]) is stays


def test_a_scenario_about_its_dtype_keeps_it() -> None:
    """own_dtype survives the way, and such a scenario is its own truth; others are moved."""
    x = Recipe((2,), 7, dtype="float32")
    own, other = Scenario("own", (Call("f", (x,)),), own_dtype=True), Scenario("other", (Call("f", (x,)),))
    assert load_scenarios(dump_scenarios([own, other])) == (own, other)
    assert in_dtype(own, "float64") == own
    traces = run([in_dtype(s, "float64") for s in (own, other)], {"f": lambda given: torch.finfo(given.dtype).eps})
    assert [t.observations[0].seen["result"] for t in traces] == [2.0**-23, 2.0**-52]
