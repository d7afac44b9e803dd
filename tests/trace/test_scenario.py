"""A recipe is the same tensor for ever and everywhere; a scenario is data that refuses what it cannot mean."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from autograder.trace.scenario import (
    MAX_ELEMENTS,
    Build,
    Call,
    Cast,
    Forward,
    Load,
    Mode,
    Recipe,
    Scenario,
    draw,
    in_dtype,
    matches,
    recipes,
)

SHAPES = st.lists(st.integers(0, 5), max_size=4).map(tuple)
SEEDS = st.integers(0, 2**64 - 1)


@pytest.mark.parametrize(
    ("recipe", "numbers"),
    [
        (
            Recipe((5,), seed=1),
            [1.5147188938140126, 0.4639570164544394, 1.8249816080617016, 0.2998761884845711, -0.33589029752444133],
        ),
        (
            Recipe((2, 2), seed=12345678901234567890, loc=(1.0, 2.0), scale=(2.0, 3.0)),
            [1.9751411873718385, 1.8009802932905195, 5.567816995628637, 4.770960981669658],
        ),
        (Recipe((), seed=3), [0.3240425071520371]),
    ],
)
def test_the_numbers_are_pinned(recipe: Recipe, numbers: list[float]) -> None:
    """A report of last year must replay: other numbers for a seed would be another grade."""
    # The last bit is the processor's: the logarithm and the cosine are not the same on all of them.
    assert draw(recipe).ravel().tolist() == pytest.approx(numbers, rel=1e-13)


@given(SHAPES, SEEDS)
def test_the_same_recipe_is_the_same_tensor(shape: tuple[int, ...], seed: int) -> None:
    """Whoever draws, and however often: nothing global is read, and the shape is the one asked for."""
    first = draw(Recipe(shape, seed))
    np.random.seed(0)
    assert np.array_equal(first, draw(Recipe(shape, seed)))
    assert first.shape == shape
    assert first.dtype == np.float64
    assert first.flags.c_contiguous


@given(SHAPES, SEEDS, st.sampled_from(["transposed", "strided", "channels_last"]))
def test_a_layout_changes_no_number(shape: tuple[int, ...], seed: int, layout: Any) -> None:
    """It says how the numbers lie in memory, which is the probe's business."""
    assert np.array_equal(draw(Recipe(shape, seed, layout=layout)), draw(Recipe(shape, seed)))


@given(SEEDS, SEEDS)
def test_other_seeds_are_other_numbers(a: int, b: int) -> None:
    """Also where they differ in the upper half of 64 bits only."""
    assume(a != b)
    assert not np.array_equal(draw(Recipe((4,), a)), draw(Recipe((4,), b)))


@pytest.mark.parametrize("shape", [(3,), (4, 3), (4, 3, 2), (4, 3, 2, 5)])
def test_location_and_spread_are_per_channel(shape: tuple[int, ...]) -> None:
    """The channel is axis 1, and axis 0 of a vector."""
    loc, scale = (10.0, -20.0, 0.5), (0.5, 2.0, 0.0)
    drawn, axis = draw(Recipe(shape, 8, loc, scale)), 1 if len(shape) > 1 else 0
    for channel in range(3):
        expected = draw(Recipe(shape, 8)).take(channel, axis) * scale[channel] + loc[channel]
        assert np.array_equal(drawn.take(channel, axis), expected)


@given(st.lists(st.integers(0, 3), min_size=0, max_size=4).map(tuple), st.data())
def test_a_location_per_channel_keeps_the_shape(shape: tuple[int, ...], data: st.DataObject) -> None:
    """Also of a scalar and of an empty tensor."""
    channels = shape[1 if len(shape) > 1 else 0] if shape else 1
    loc = tuple(data.draw(st.lists(st.floats(-9, 9), min_size=channels, max_size=channels)))
    assert draw(Recipe(shape, loc=loc)).shape == shape


def test_the_numbers_are_standard_normal() -> None:
    """Mean 0, variance 1, no tail cut off; `positive` folds it."""
    x = draw(Recipe((200_000,), 5))
    assert abs(x.mean()) < 0.01
    assert abs(x.var() - 1) < 0.02
    assert abs(((x > 1.96) | (x < -1.96)).mean() - 0.05) < 0.003
    assert abs((x**4).mean() - 3) < 0.1
    assert np.array_equal(draw(Recipe((200_000,), 5, positive=True)), np.abs(x))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
def test_a_dtype_is_kept(dtype: Any) -> None:
    """The numbers are the float64 ones, rounded."""
    drawn = draw(Recipe((6,), 4, scale=10.0, dtype=dtype))
    assert drawn.dtype == np.dtype(dtype)
    assert np.array_equal(drawn, draw(Recipe((6,), 4, scale=10.0)).astype(dtype))


def test_values_replace_the_draw() -> None:
    """Row by row."""
    assert draw(Recipe((2, 2), 9, loc=5.0, values=(1.0, 2.0, 3.0, 4.0))).tolist() == [[1, 2], [3, 4]]


def test_through_rounds_first() -> None:
    """A float64 run sees exactly the numbers of the float32 run."""
    low = draw(Recipe((50,), 2, dtype="float32"))
    assert np.array_equal(draw(Recipe((50,), 2, dtype="float64", through="float32")), low.astype(np.float64))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"shape": (MAX_ELEMENTS + 1,)}, "holds more than"),
        ({"shape": (1 << 40, 1 << 40)}, "holds more than"),
        ({"shape": (-1, 3)}, "negative"),
        ({"shape": (-2, -2)}, "negative"),
        ({"shape": (2, 2), "values": (1.0,)}, "1 values do not fill"),
        ({"shape": (2, 3), "loc": (1.0, 2.0)}, "loc has 2 entries for 3 channels"),
        ({"shape": (3,), "scale": (1.0, 2.0)}, "scale has 2 entries for 3 channels"),
    ],
)
def test_a_recipe_that_cannot_be_drawn_is_refused(fields: dict[str, Any], words: str) -> None:
    """When it is made, not when it is drawn in a student's kernel."""
    with pytest.raises(ValueError, match=words):
        Recipe(**fields)


# --- scenarios -------------------------------------------------------------------------------------------------------------

X32 = Recipe((3, 2), 1, dtype="float32")
X64 = Recipe((3, 2), 2)
COUNT = Recipe((), dtype="int64", values=(7.0,))
MIXED = Scenario(
    "mixed",
    (
        Build("M", (2, COUNT), {"eps": 0.5}, "float32"),
        Cast("float16"),
        Mode(False),
        Load({"weight": X32, "count": COUNT}),
        Forward(X32, X64),
        Call("f", (X64, 3, "word", (1, 2)), {"x": X32}),
    ),
)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_in_dtype_moves_every_floating_tensor(dtype: Any) -> None:
    """Built, cast, loaded, passed by position or by keyword; integers and everything else stay."""
    moved = in_dtype(MIXED, dtype)
    found = [recipe for step in moved.steps for recipe in recipes(step)]
    assert {recipe.dtype for recipe in found} == {dtype, "int64"}
    build, cast, mode, load, _, call = moved.steps
    assert isinstance(build, Build)
    assert isinstance(load, Load)
    assert isinstance(call, Call)
    assert (build.target, build.dtype, build.kwargs) == ("M", dtype, {"eps": 0.5})
    assert cast == Cast(dtype)
    assert mode == Mode(False)
    assert load.state["count"] == COUNT
    assert isinstance(call.kwargs["x"], Recipe)
    assert call.args[1:] == (3, "word", (1, 2))


def test_in_dtype_keeps_the_numbers() -> None:
    """The truth in float64 is about the very numbers that the float32 layer saw, however often it is moved."""
    for version in (in_dtype(MIXED, "float64"), in_dtype(in_dtype(MIXED, "float32"), "float64")):
        for step, original in zip(version.steps, MIXED.steps, strict=True):
            for recipe, first in zip(recipes(step), recipes(original), strict=True):
                assert np.array_equal(draw(recipe), draw(first).astype(recipe.dtype))


def test_the_size_counts_every_tensor() -> None:
    """Recipes in tuples and in mappings too: the smallest failing scenario is the one that is shown."""
    assert [len(recipes(step)) for step in MIXED.steps] == [1, 0, 0, 2, 2, 2]
    assert MIXED.size == 1 + (6 + 1) + 12 + 12


@pytest.mark.parametrize(
    ("address", "patterns", "fits"),
    [
        ("y", ("*",), True),
        ("y", ("x.grad", "y"), True),
        ("m.weight.grad", ("m.*.grad",), True),
        ("m.weight", ("m.*.grad",), False),
        ("result[0]", ("result[?]",), True),
        ("result[0]", ("result[0]",), True),
        ("result0", ("result[0]",), False),
        ("result['mean']", ("result['mean']",), True),
        ("result['a']", ("result['mean']",), False),
        ("Y", ("y",), False),
        ("y", (), False),
    ],
)
def test_brackets_in_a_pattern_mean_themselves(address: str, patterns: tuple[str, ...], fits: bool) -> None:
    """They belong to addresses; fnmatch would read them as a set of letters."""
    assert matches(address, patterns) is fits


@given(st.text("ab[]", max_size=6), st.text("ab[]*?", max_size=5))
def test_patterns_are_those_of_fnmatch(address: str, pattern: str) -> None:
    """But for the brackets."""
    assert matches(address, (pattern,)) is fnmatchcase(address, pattern.replace("[", "[[]"))
