"""Two traces differ first in what happened, then in what is there, its shape, its dtype, its finiteness, its numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.checks.compare import Difference, Due, Expected, agrees, brief, difference, differences
from autograder.trace.trace import Failure, Frame, Observation, Opaque, Seen, Tensor, Trace


def tensor(*values: Any, dtype: str = "float64") -> Tensor:
    """A tensor in a trace."""
    return Tensor(dtype, np.array(values, dtype=dtype if dtype != "bfloat16" else "float32"))


def kind(want: Any, got: Any, tolerance: float = 1e-6) -> str | None:
    """The kind of the difference between two things at one address."""
    found = difference("y", want, want, got, tolerance)
    return None if found is None else found[0]


def line(want: Any, got: Any, tolerance: float = 1e-6) -> str:
    """The sentence for it."""
    found = difference("y", want, want, got, tolerance)
    assert found is not None
    return found[1]


THREE = tensor(1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("want", "got", "found"),
    [
        (THREE, tensor(1.0, 2.0, 3.0), None),
        (THREE, tensor(1.0, 2.0, 3.0 + 1e-7), None),
        (THREE, Opaque("list"), "missing"),
        (THREE, None, "missing"),
        (THREE, 3.0, "missing"),
        (THREE, tensor([1.0, 2.0, 3.0]), "shape"),  # (1, 3): broadcasting would call it equal
        (tensor([1.0], [1.0]), tensor(1.0), "shape"),
        (tensor(1.0, 1.0), tensor(1.0), "shape"),
        (Tensor("float64", np.float64(1.0)), tensor(1.0), "shape"),  # () is not (1,)
        (Tensor("float64", np.zeros((0, 2))), Tensor("float64", np.zeros((0, 3))), "shape"),
        (Tensor("float64", np.zeros((0, 2))), Tensor("float64", np.zeros((0, 2))), None),
        (tensor(math.nan), tensor([math.nan], dtype="float32"), "shape"),  # the shape before the dtype
        (THREE, tensor(1.0, 2.0, math.nan, dtype="float32"), "dtype"),  # the dtype before what is finite
        (THREE, Tensor("bfloat16", np.array([1.0, 2.0, 3.0], np.float32)), "dtype"),
        (THREE, tensor(9.0, 2.0, math.nan), "finite"),  # not finite before a wrong number
        (THREE, tensor(1.0, 2.0, math.inf), "finite"),
        (THREE, tensor(1.0, 2.0, 3.1), "value"),
        (tensor(math.nan), tensor(math.nan), None),
        (tensor(math.inf), tensor(math.inf), None),
        (tensor(math.inf), tensor(-math.inf), "value"),
        (tensor(math.nan), tensor(math.inf), "value"),
        (tensor(math.inf), tensor(1.0), "value"),
        (tensor(math.nan), tensor(1.0), "value"),
        (tensor(3, dtype="int64"), tensor(3, dtype="int64"), None),
        (tensor(3, dtype="int64"), tensor(4, dtype="int64"), "value"),
        (tensor(True, False, dtype="bool"), tensor(True, True, dtype="bool"), "value"),
        (2.5, 2.5, None),
        (2.5, 2.5000001, None),
        (2.0, 2, None),  # a prediction may be an integer,
        (2.0, tensor(2.0), None),  # or a tensor that holds one number,
        (2.0, tensor([2.0]), None),
        (2.0, tensor(2.0, 2.0), "value"),  # not two,
        (2.0, True, "value"),  # and no truth value
        (2.0, "2.0", "value"),
        (2.0, None, "value"),
        (2.0, Opaque("Fraction"), "missing"),
        (2.0, math.nan, "finite"),
        (2.0, 2.1, "value"),
        (True, True, None),
        (True, False, "value"),
        (True, 1, "value"),
        (1, 1, None),
        (1, 1.0, "value"),
        ("a, b", "a, b", None),
        ("a, b", "b, a", "value"),
        (None, None, None),
        (None, tensor(1.0), "value"),
    ],
)
def test_the_first_difference_is_named(want: Any, got: Any, found: str | None) -> None:
    """One rule for each row; nothing is broadcast, nothing is taken for something else."""
    assert kind(want, got) == found


@pytest.mark.parametrize(
    ("want", "got", "sentence"),
    [
        (THREE, tensor([1.0, 2.0, 3.0]), "y should have shape (3,); it has (1, 3)"),
        (THREE, tensor(1, 2, 3, dtype="float32"), "y should be float64; it is float32"),
        (THREE, Opaque("list"), "y should be a tensor of shape (3,); it is a list"),
        (THREE, Opaque("missing"), "y should be a tensor of shape (3,); it is missing"),
        (THREE, None, "y should be a tensor of shape (3,); it is None"),
        (THREE, tensor(1.0, 2.5, 9.0), "y[2] should be 3; it is 9 (2 of 3 differ; this one most)"),
        (tensor([1.0], [2.0]), tensor([1.0], [-2.0]), "y[1, 0] should be 2; it is -2 (1 of 2 differ; this one most)"),
        (THREE, tensor(1.0, math.nan, math.inf), "y[1] should be 2; it is nan (2 of 3)"),
        (tensor(1.0), tensor(2.0), "y[0] should be 1; it is 2"),
        (1.0, 2.0, "y should be 1; it is 2"),
        (True, False, "'y' should be True; it is False"),
        ("a", "", "y should be 'a'; it is empty"),
    ],
)  # fmt: skip
def test_the_sentence_gives_the_address_and_both_sides(want: Any, got: Any, sentence: str) -> None:
    """The worst index, what is due and what is there."""
    assert line(want, got) == sentence


@given(st.integers(1, 5), st.integers(1, 5), st.data())
def test_the_worst_index_is_the_worst(rows: int, columns: int, data: st.DataObject) -> None:
    """Wherever it lies."""
    want = np.zeros((rows, columns))
    got = want.copy()
    i, j = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    got[0, 0] += 0.5
    got[i, j] -= 2.0
    assert line(Tensor("float64", want), Tensor("float64", got)).startswith(f"y[{i}, {j}] should be 0; it is -")


@given(st.floats(1e-9, 1e3), st.floats(0, 3))
def test_the_tolerance_is_a_sharp_edge(tolerance: float, factor: float) -> None:
    """At most the tolerance passes."""
    got = Tensor("float64", np.array([factor * tolerance]))
    assert (kind(tensor(0.0), got, tolerance) is None) == (factor * tolerance <= tolerance)


def test_numbers_are_compared_with_the_truth() -> None:
    """Shape and dtype with the run as it was, numbers with float64."""
    want, truth = tensor(1.0, dtype="float32"), Tensor("float64", np.array([1.0 + 1e-8]))
    assert difference("y", want, truth, tensor(1.0, dtype="float32"), 2e-8) is None
    assert difference("y", want, truth, tensor(1.0, dtype="float32"), 0.5e-8) is not None
    assert difference("y", want, Tensor("float64", np.zeros(3)), tensor(1.0, dtype="float32"), 0.0) is None


# --- traces ----------------------------------------------------------------------------------------------------------------


def trace(*observations: Observation) -> Trace:
    """A trace of some steps."""
    return Trace("s", observations)


def saw(**seen: Any) -> Observation:
    """A step that went well."""
    return Observation(seen)


def failed(type_: str, *bases: str, message: str = "no", frames: tuple[Frame, ...] = ()) -> Observation:
    """A step that did not."""
    return Observation({}, Failure(type_, (type_, *bases), message, frames))


def found(want: Trace, got: Trace, keys: tuple[str, ...] = ("*",), only: tuple[str, ...] = ("*",)) -> list[Difference]:
    """All differences, a check looking at some addresses."""
    return list(differences(Expected(want, want, (), only), got, lambda address: "*" in keys or address in keys))


NUMBERS = st.one_of(st.floats(width=32), st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1e308, -1e308]))
ARRAYS = st.lists(NUMBERS, max_size=4).map(lambda numbers: np.array(numbers))
VALUES = st.one_of(
    st.builds(Tensor, st.sampled_from(["float32", "float64"]), ARRAYS),
    st.builds(Tensor, st.just("float64"), NUMBERS.map(np.array)),
    NUMBERS,
    st.integers(-3, 3),
    st.booleans(),
    st.sampled_from(["a", "b", None, Opaque("missing")]),
)


@given(VALUES, VALUES, VALUES, st.sampled_from([0.0, 1e-6, 1.0, 1e6]))
@settings(max_examples=500, deadline=None)
def test_the_quick_looks_agree_with_the_long_one(want: Seen, truth: Seen, got: Seen, tolerance: float) -> None:
    """What is plainly met is no difference, and what agrees is none either, whatever numbers these are."""
    with np.errstate(all="ignore"):
        if Due("y", want, truth, tolerance).is_met({"y": got}):
            assert difference("y", want, truth, got, tolerance) is None
        assert agrees(want, got, tolerance) == (difference("y", want, want, got, tolerance) is None)
        assert agrees(want, want, tolerance) == (difference("y", want, want, want, tolerance) is None)


def test_a_number_that_is_met_is_seen_at_once() -> None:
    """Nearly all that is asked about a class is right."""
    want = Tensor("float32", np.array([1.0, 2.0], np.float32))
    due = Due("y", want, Tensor("float64", np.array([1.0, 2.25])), 0.5)
    assert due.is_met({"y": Tensor("float32", np.array([1.5, 2.75], np.float32))})
    assert not due.is_met({"y": Tensor("float32", np.array([1.5, 1.5], np.float32))})
    assert not due.is_met({})


def test_equal_traces_have_no_difference() -> None:
    """More than was asked for is none."""
    assert found(trace(saw(y=1), saw(z="a")), trace(saw(y=1, extra=3), saw(z="a"))) == []


def test_differences_come_step_by_step() -> None:
    """In the order in which they happened."""
    got = found(trace(saw(a=1, b=2), saw(c=3)), trace(saw(a=9, b=2), saw(c=8)))
    assert [(d.step, d.address, d.kind) for d in got] == [(0, "a", "value"), (1, "c", "value")]


def test_what_is_not_there_is_missing() -> None:
    """And what was expected is said."""
    assert found(trace(saw(y=THREE)), trace(saw())) == [
        Difference(0, "y", "missing", "y is missing; expected a float64 tensor of shape (3,)")
    ]


def test_only_what_a_check_and_its_scenario_look_at_is_compared() -> None:
    """So one fault costs one check."""
    want, got = trace(saw(y=1, z=1)), trace(saw(y=2, z=2))
    assert [d.address for d in found(want, got, keys=("z",))] == ["z"]
    assert [d.address for d in found(want, got, only=("y",))] == ["y"]
    assert found(want, got, keys=("z",), only=("y",)) == []


@pytest.mark.parametrize(
    ("want", "got", "sentence"),
    [
        (saw(), failed("ValueError"), "ValueError: no"),
        (saw(), failed("E", frames=(Frame("f", 1, "a"), Frame("g", 2, "b / 0"))), "E: no (in g: `b / 0`)"),
        (saw(), failed("E", message="  \nfirst\nsecond"), "E: first"),
        (saw(), failed("E", message=""), "E: (no message)"),
        (saw(), failed("E", message="x" * 300), "E: " + "x" * 157 + "..."),
        (failed("ValueError"), saw(), "a ValueError was expected, but nothing was raised"),
        (failed("IndexError"), saw(), "an IndexError was expected, but nothing was raised"),
        (failed("ValueError"), failed("TypeError"), "a ValueError was expected, but TypeError was raised: no"),
    ],
)
def test_a_failure_comes_before_everything_else(want: Observation, got: Observation, sentence: str) -> None:
    """It ends the comparison: what follows it is its consequence."""
    got_all = found(trace(want, saw(y=1)), trace(got, saw(y=2)))
    assert [(d.kind, d.line) for d in got_all] == [("failure", sentence)]


def test_an_expected_exception_may_be_a_subclass() -> None:
    """Its message is the student's own."""
    want = trace(failed("ValueError", "Exception", message="ours"))
    assert found(want, trace(failed("MyError", "ValueError", "Exception", message="theirs"))) == []


def test_a_run_that_ends_early_is_a_difference() -> None:
    """Forged or not, missing steps never pass."""
    assert [d.kind for d in found(trace(saw(), saw()), trace(saw()))] == ["missing"]
    assert [d.kind for d in found(trace(saw()), trace())] == ["missing"]


@pytest.mark.parametrize(
    ("given", "words"),
    [(THREE, "a float64 tensor of shape (3,)"), (Opaque("list"), "a list"), (Opaque("missing"), "missing"),
     ("", "empty"), ("a", "'a'"), (1 / 3, "0.333333"), (None, "None"), (True, "True"), (7, "7")],
)  # fmt: skip
def test_brief(given: Any, words: str) -> None:
    """A few words for anything."""
    assert brief(given) == words


def test_a_list_in_the_place_of_a_tensor_is_called_one() -> None:
    """Its parts have addresses of their own, so the place itself is empty; "missing" would send a student the wrong way."""
    want = Trace("s", (Observation({"result[0]": Tensor("float64", np.zeros(3))}),))
    given = Trace("s", (Observation({"result[0] holds": "list of 3", "result[0][0]": 0.0}),))
    found = next(differences(Expected(want, want, ({},)), given, lambda _: True))
    assert found.line == "result[0] should be a float64 tensor of shape (3,); it is a list of 3"
