"""A network says what it is, travels as JSON, and refuses what nobody can build."""

from __future__ import annotations

import pytest

from autograder.trace.codec import dump_scenarios, load_scenarios
from autograder.trace.network import Maker, Network
from autograder.trace.scenario import Call, Recipe, Scenario, in_dtype, leaves, recipes

NET = Network((("linear", 4, 3), ("batch_norm", 3), ("block", ("relu",), ("linear", 3, 2, False))), seed=5)
ASKED = Scenario(
    "models, batches and a maker",
    (Call("f", ({"a": NET, "b": (Recipe((2, 4)), 0.5)}, (Recipe((2,), dtype="int64"),)), {"make": Maker(NET)}),),
)


def test_it_travels_as_json_and_comes_back_equal() -> None:
    """Also inside tuples and dictionaries of arguments."""
    assert load_scenarios(dump_scenarios([ASKED])) == (ASKED,)


def test_what_stands_deep_in_an_argument_is_found() -> None:
    """Recipes count for a scenario's size wherever they stand."""
    assert recipes(ASKED.steps[0]) == (Recipe((2, 4)), Recipe((2,), dtype="int64"))
    assert ASKED.size == 10
    assert list(leaves((1, {"a": (2, {"b": 3})}))) == [1, 2, 3]


def test_a_change_of_dtype_reaches_every_depth_and_leaves_integers_alone() -> None:
    """The truth of a scenario is its own numbers in float64, and a class index stays one."""
    models, batches = in_dtype(ASKED, "float32").steps[0].args  # type: ignore[union-attr]
    assert models["a"].dtype == "float32"
    assert models["b"][0].dtype == "float32"
    assert batches[0].dtype == "int64"
    assert in_dtype(ASKED, "float32").steps[0].kwargs["make"].network.dtype == "float32"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("layers", "said"),
    [
        ((("linear", 4),), "linear takes 2 to 3 numbers"),
        ((("dense", 4, 4),), "no layer is called 'dense'"),
        (("relu",), "a layer is a word and its sizes"),
        ((("linear", -1, 4),), "from 0 to 256"),
        ((("linear", 4, 10**6),), "from 0 to 256"),
        ((("block", ("relu", 3)),), "relu takes 0 to 0"),
        ((("relu",),) * 65, "more than 64 layers"),
        ((("block", *((("relu",),) * 65)),), "more than 64 layers"),
    ],
)
def test_what_cannot_be_built_is_refused_with_a_sentence(layers: object, said: str) -> None:
    """When it is written down, not when a student's kernel meets it."""
    with pytest.raises(ValueError, match=said):
        Network(layers)  # type: ignore[arg-type]


def test_an_odd_dtype_is_refused() -> None:
    """Half precision is not graded."""
    with pytest.raises(ValueError, match="float32 or float64"):
        Network((("relu",),), dtype="float16")  # type: ignore[arg-type]
