"""A whole reply is called right only where nothing in it differs; whatever else it is, somebody looks closer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from autograder.checks.at_once import wanted
from autograder.checks.check import Check
from autograder.checks.compare import Expected, differences
from autograder.trace.codec import dump_traces, load_reply
from autograder.trace.reply import Reply
from autograder.trace.trace import Failure, Observation, Seen, Tensor, Trace

CHECK = Check("c", "e", 1, "a title", lambda _: (), keys=("y", "x.grad", "kind of *", "number", "result[[]0]"))
SEEN: dict[str, Seen] = {
    "y": Tensor("float64", np.arange(6.0).reshape(2, 3)),
    "x.grad": Tensor("float32", np.ones(3, "float32")),
    "count": Tensor("int64", np.array(3)),
    "kind of y": "a parameter",
    "number": 0.5,
}
REFUSED = Failure("ValueError", ("ValueError", "Exception"), "no")
RIGHT = (Trace("one", (Observation({}), Observation(SEEN))), Trace("two", (Observation({}, REFUSED),)))
TOLERANCES = ({}, {"y": 1e-6, "x.grad": 1e-6, "number": 1e-6})
EXPECTED = (Expected(RIGHT[0], RIGHT[0], TOLERANCES), Expected(RIGHT[1], RIGHT[1], ({},)))


def plainly_met(reply: Reply) -> bool:
    """Whether the reply is called right without a closer look."""
    asked = wanted(CHECK, EXPECTED, reply.words)
    return asked is not None and all(each.is_met(reply) for each in asked)


def sent(*traces: Trace) -> Reply:
    """The reply that a kernel would send."""
    return load_reply(dump_traces(traces))


def showing(**changes: Any) -> Reply:
    """A reply whose second step shows something else; None leaves it out."""
    named = {name.replace("_", " ") if name.startswith("kind") else name: value for name, value in changes.items()}
    seen = {name: value for name, value in {**SEEN, **named}.items() if value is not None}
    return sent(replace(RIGHT[0], observations=(Observation({}), Observation(seen))), RIGHT[1])


def y(*numbers: float, dtype: str = "float64", shape: tuple[int, ...] = (2, 3)) -> Tensor:
    """Other numbers for y."""
    return Tensor(dtype, np.array(numbers or range(6), dtype=dtype).reshape(shape))


def test_what_is_right_is_met() -> None:
    """Also within the tolerance, in a number that stands among the words, and whatever stands where the check does not look."""
    assert plainly_met(sent(*RIGHT))
    assert plainly_met(showing(y=y(0, 1, 2, 3, 4, 5 + 5e-7), number=0.5 + 5e-7))
    assert plainly_met(showing(count=Tensor("int64", np.array(4)), other="thing"))
    longer = replace(RIGHT[1], observations=(Observation({}, replace(REFUSED, message="other words")),))
    assert plainly_met(sent(RIGHT[0], longer))


WRONG = {
    "a number": showing(y=y(0, 1, 2, 3, 4, 5 + 2e-6)),
    "a number of the other array": showing(**{"x.grad": Tensor("float32", np.array([1, 1, 1.1], "float32"))}),
    "no number": showing(y=y(0, 1, 2, 3, 4, np.nan)),
    "infinity": showing(y=y(0, 1, 2, 3, 4, np.inf)),
    "another shape": showing(y=y(shape=(3, 2))),
    "another dtype": showing(y=y(dtype="float32")),
    "nothing there": showing(y=None),
    "text for a tensor": showing(y="a tensor"),
    "a tensor for text": showing(kind_of_y=y()),
    "another text": showing(kind_of_y="a buffer"),
    "another number in words": showing(number=0.6),
    "an error": sent(replace(RIGHT[0], observations=(Observation({}, REFUSED),)), RIGHT[1]),
    "no error": sent(RIGHT[0], replace(RIGHT[1], observations=(Observation({}),))),
    "an error too late": sent(RIGHT[0], replace(RIGHT[1], observations=(Observation({}), Observation({}, REFUSED)))),
    "a step less": sent(replace(RIGHT[0], observations=RIGHT[0].observations[:1]), RIGHT[1]),
    "a trace less": sent(RIGHT[0]),
    "a trace more": sent(*RIGHT, RIGHT[0]),
    "torch's own layer": sent(replace(RIGHT[0], operators=("batch_norm",)), RIGHT[1]),
    "a class of torch's": sent(RIGHT[0], replace(RIGHT[1], inherits=("torch.nn.BatchNorm1d",))),
}


@pytest.mark.parametrize("reply", WRONG.values(), ids=WRONG)
def test_what_differs_is_looked_at_more_closely(reply: Reply) -> None:
    """One of each kind of difference."""
    assert not plainly_met(reply)


def test_autograd_is_an_offence_where_the_check_says_so() -> None:
    """As in a verdict that is given trace by trace."""
    reply = sent(replace(RIGHT[0], autograd=True), RIGHT[1])
    assert plainly_met(reply)
    assert wanted(replace(CHECK, autograd=False), EXPECTED, reply.words) is None


def forged(seen: dict[str, object], **arrays: Any) -> Reply:
    """A reply written by hand: the words of the right one with other places for its tensors."""
    failure = {"type": "ValueError", "bases": ["ValueError"], "message": "no", "frames": []}
    shown = {"kind of y": "a parameter", "number": 0.5, **seen}
    steps = [[{"seen": {}, "failure": None}, {"seen": shown, "failure": None}], [{"seen": {}, "failure": failure}]]
    rest = {"operators": [], "autograd": False, "inherits": []}
    body = [{"scenario": "s", "observations": step, **rest} for step in steps]
    return load_reply(safetensors.numpy.save(arrays, metadata={"traces": json.dumps(body)}))


def place(array: str, at: int, shape: list[int], dtype: str) -> list[object]:
    """Where a tensor is said to stand."""
    return [array, at, shape, dtype]


def test_two_tensors_in_one_place_do_not_hide_one_another() -> None:
    """Who writes the gradient over the output, to have the one compared and not the other, gains nothing."""
    apart = {"y": place("a", 0, [2, 3], "float64"), "x.grad": place("a", 6, [3], "float32")}
    assert plainly_met(forged(apart, a=np.array([0, 1, 2, 3, 4, 5, 1, 1, 1.0])))
    over = {"y": place("a", 0, [2, 3], "float64"), "x.grad": place("a", 0, [3], "float32")}
    assert not plainly_met(forged(over, a=np.array([1, 1, 1, 3, 4, 5.0])))
    assert not plainly_met(forged(dict(reversed(over.items())), a=np.array([0, 1, 2, 3, 4, 5.0])))


def test_whole_arrays_are_looked_at_more_closely() -> None:
    """They are from older files, and no kernel sends them."""
    whole = {"y": {"tensor": "a", "dtype": "float64"}, "x.grad": place("b", 0, [3], "float32")}
    reply = forged(whole, a=np.arange(6.0).reshape(2, 3), b=np.ones(3))
    assert not plainly_met(reply)
    assert not [d for e, t in zip(EXPECTED, reply, strict=True) for d in differences(e, t, CHECK.looks_at)]


@given(
    st.lists(st.floats(-1e-5, 1e-5) | st.sampled_from([np.nan, np.inf, -np.inf, 1e-6, -1e-6]), min_size=6, max_size=6)
)
def test_it_never_says_yes_where_a_difference_would_be_found(moved: list[float]) -> None:
    """And nearly always where none would be."""
    reply = showing(y=Tensor("float64", np.arange(6.0).reshape(2, 3) + np.reshape(moved, (2, 3))))
    found = [d for e, t in zip(EXPECTED, reply, strict=True) for d in differences(e, t, CHECK.looks_at)]
    assert plainly_met(reply) == (not found)
