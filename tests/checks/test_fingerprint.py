"""A fingerprint recognizes what it was taken from, on another machine too, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.checks.check import Check
from autograder.checks.compare import Expected
from autograder.checks.fingerprint import fingerprint, reduced, shows
from autograder.checks.tolerance import derive
from autograder.trace.trace import Failure, Observation, Opaque, Seen, Tensor, Trace

CHECK = Check("c", "f", 1, "a check", lambda _: (), ("y", "result*", "m.*"))
TRUTH = np.array([1.0, -2.0, 0.5, 4.0, 0.25, -1.5])
VALUE_ERROR = Failure("ValueError", ("ValueError", "Exception"), "")


def trace(*steps: dict[str, Seen] | Failure, **more: Any) -> Trace:
    """A trace of observations."""
    made = tuple(Observation({}, step) if isinstance(step, Failure) else Observation(step) for step in steps)
    return Trace("s", made, **more)


def tensor(numbers: Any, dtype: str = "float64") -> Tensor:
    return Tensor(dtype, np.asarray(numbers, dtype=dtype))


def expected(of: Trace) -> Expected:
    """With the tolerances of an honest float32."""
    return Expected(of, of, derive(of, of))


RIGHT = trace({"y": tensor(TRUTH)}, {"m.a": tensor(TRUTH), "m.kind": "a buffer", "other": 1})
WANT = expected(RIGHT)


def is_shown(mistaken: Trace, given_trace: Trace, want: Expected = WANT, exact: Trace | None = None) -> bool:
    """Whether the second shows what the first shows, by a fingerprint that went through JSON."""
    mark = json.loads(json.dumps(fingerprint(CHECK, want, mistaken, exact)))
    return shows(mark, want, reduced(CHECK, want, want.trace), reduced(CHECK, want, given_trace))


WRONG = {
    "numbers": trace({"y": tensor(TRUTH * 1.1)}, RIGHT.observations[1].seen),
    "later numbers": trace(RIGHT.observations[0].seen, {"m.a": tensor(TRUTH + 1), "m.kind": "a buffer"}),
    "one number": trace({"y": tensor([*TRUTH[:-1], 7.0])}, RIGHT.observations[1].seen),
    "another order": trace({"y": tensor(TRUTH[::-1])}, RIGHT.observations[1].seen),
    "shape": trace({"y": tensor(TRUTH.reshape(2, 3))}, RIGHT.observations[1].seen),
    "dtype": trace({"y": tensor(TRUTH, "float32")}, RIGHT.observations[1].seen),
    "not a number": trace({"y": tensor([*TRUTH[:-1], np.nan])}, RIGHT.observations[1].seen),
    "infinite": trace({"y": tensor([*TRUTH[:-1], np.inf])}, RIGHT.observations[1].seen),
    "kind": trace(RIGHT.observations[0].seen, {"m.a": tensor(TRUTH), "m.kind": "a parameter"}),
    "missing": trace(RIGHT.observations[0].seen, {"m.a": tensor(TRUTH)}),
    "opaque": trace({"y": Opaque("list")}, RIGHT.observations[1].seen),
    "a float": trace({"y": 3.0}, RIGHT.observations[1].seen),
    "a failure": trace({"y": tensor(TRUTH)}, Failure("TypeError", ("TypeError",), "cannot add 3 to None")),
    "another failure": trace({"y": tensor(TRUTH)}, Failure("TypeError", ("TypeError",), "no such thing")),
    "an early failure": trace(VALUE_ERROR),
    "torch's operator": replace(RIGHT, operators=("aten.native_batch_norm",)),
    "torch's class": replace(RIGHT, inherits=("torch.nn.BatchNorm1d",)),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_shows_itself_and_nothing_else_does(name: str) -> None:
    """Neither the reference nor any other way to be wrong."""
    assert is_shown(WRONG[name], WRONG[name])
    assert not is_shown(WRONG[name], RIGHT)
    assert [other for other in WRONG if is_shown(WRONG[name], WRONG[other])] == [name]


def test_what_is_as_the_reference_says_takes_no_room() -> None:
    """Nor do addresses that the check does not look at."""
    assert fingerprint(CHECK, WANT, RIGHT) == 0
    assert fingerprint(CHECK, WANT, trace(RIGHT.observations[0].seen, {**RIGHT.observations[1].seen, "other": 2})) == 0
    mark = fingerprint(CHECK, WANT, WRONG["later numbers"])
    assert mark[0] == 0
    assert len(mark[1]) == 2


def test_another_machines_rounding_changes_nothing() -> None:
    """In the last digits of float32, relative to the largest number."""
    shift = np.random.default_rng(0).uniform(-1, 1, 6) * 2.0**-23 * 4
    for name, wrong in WRONG.items():
        if isinstance(wrong.observations[0].seen.get("y"), Tensor):
            y = wrong.observations[0].seen["y"]
            rounded = Tensor(y.dtype, y.array + shift.reshape(y.shape).astype(y.dtype))
            first = Observation({"y": rounded}, wrong.observations[0].failure)
            moved = replace(wrong, observations=(first, *wrong.observations[1:]))
            assert is_shown(wrong, moved), name


@settings(deadline=None)
@given(st.integers(0, 2**32), st.floats(0.05, 10.0), st.booleans())
def test_an_error_of_ones_own_is_not_taken_for_a_mistake(seed: int, size: float, at_one_place: bool) -> None:
    """Whatever is added to what a mistake shows: everywhere, or at one place."""
    stream = np.random.default_rng(seed)
    off = trace({"y": tensor(TRUTH * 1.1 + error(stream, size, at_one_place))}, RIGHT.observations[1].seen)
    assert not is_shown(WRONG["numbers"], off)
    assert not is_shown(RIGHT, off)


def error(stream: np.random.Generator, size: float, at_one_place: bool) -> Any:
    """Six errors of that size, of either sign; or one."""
    shift = stream.uniform(0.5, 1.0, 6) * stream.choice([-1, 1], 6) * size
    return shift * (np.arange(6) == stream.integers(6)) if at_one_place else shift


def test_small_errors_collide_rarely() -> None:
    """A thousandth of the numbers' size, three hundred tolerances: in one tensor of 4000 at most two are taken for the mistake."""
    stream, taken = np.random.default_rng(7), 0
    mark = fingerprint(CHECK, WANT, WRONG["numbers"])
    truth = reduced(CHECK, WANT, WANT.trace)
    for _ in range(4000):
        off = trace({"y": tensor(TRUTH * 1.1 + error(stream, 4e-3, False))}, RIGHT.observations[1].seen)
        taken += shows(mark, WANT, truth, reduced(CHECK, WANT, off))
    assert taken <= 2


def test_a_single_projection_of_many_numbers_is_still_read() -> None:
    """As older practice files have it."""
    mark = fingerprint(CHECK, WANT, WRONG["numbers"])
    older = [[mark[0][0], mark[0][1][0]], *mark[1:]]
    truth = reduced(CHECK, WANT, WANT.trace)
    assert shows(older, WANT, truth, reduced(CHECK, WANT, WRONG["numbers"]))
    assert not shows(older, WANT, truth, reduced(CHECK, WANT, WRONG["one number"]))


def test_numbers_that_rounding_made_count_by_their_size_alone() -> None:
    """Another machine rounds in another way; a float64 run tells that it was rounding."""
    noise = np.array([3e-4, -2e-4, 1e-4, -3e-4, 2e-4, 1e-4])
    noisy, exact = (trace({"y": tensor(TRUTH + n)}, RIGHT.observations[1].seen) for n in (noise, 0.0))
    elsewhere = trace({"y": tensor(TRUTH - noise[::-1] * 2)}, RIGHT.observations[1].seen)
    assert not is_shown(noisy, elsewhere)
    assert is_shown(noisy, elsewhere, exact=exact)
    assert not is_shown(noisy, WRONG["numbers"], exact=exact)
    assert not is_shown(noisy, RIGHT, exact=exact)


def test_a_float_may_come_as_a_tensor_of_one_number() -> None:
    """Where a plain float is due, as in the comparison itself."""
    want = expected(trace({"result": 2.0}))
    wrong = trace({"result": 3.0})
    assert is_shown(wrong, trace({"result": tensor(3.0)}), want)
    assert is_shown(wrong, trace({"result": 3}), want)
    assert not is_shown(wrong, trace({"result": tensor([3.0, 3.0])}), want)
    assert not is_shown(wrong, trace({"result": "3.0"}), want)
    assert not is_shown(wrong, trace({"result": True}), want)


def test_an_error_that_is_due_needs_no_words_and_what_came_instead_counts() -> None:
    """As in a diagnosis with the mistake at hand."""
    want = expected(trace(VALUE_ERROR))
    worded = trace(Failure("ValueError", ("ValueError", "Exception"), "two axes, please"))
    assert fingerprint(CHECK, want, worded) == 0
    zeros, ones = trace({"y": tensor([0.0, 0.0])}), trace({"y": tensor([1.0, 1.0])})
    assert is_shown(zeros, zeros, want)
    assert not is_shown(zeros, ones, want)


def test_torchs_own_layers_are_no_evidence_where_they_may_run() -> None:
    """In a check of the labs that measure models."""
    check = replace(CHECK, builtins=True)
    given_trace = replace(RIGHT, operators=("aten.native_batch_norm",), inherits=("torch.nn.BatchNorm1d",))
    assert fingerprint(check, WANT, given_trace) == 0
    assert fingerprint(CHECK, WANT, given_trace) != 0
    assert fingerprint(CHECK, WANT, replace(RIGHT, autograd=True)) == 0
    assert fingerprint(replace(CHECK, autograd=False), WANT, replace(RIGHT, autograd=True)) != 0


@pytest.mark.parametrize("size", [1, 2, 7, 100, 5000])
def test_large_and_small_tensors_are_told_apart(size: int) -> None:
    """A shift by a thousandth of their size shows in tensors of any number of elements."""
    numbers = np.random.default_rng(size).normal(size=size)
    want = expected(trace({"y": tensor(numbers)}))
    mistaken = trace({"y": tensor(numbers * 1.1)})
    assert is_shown(mistaken, mistaken, want)
    for factor in (1.099, 1.101, 1.2, -1.1):
        assert not is_shown(mistaken, trace({"y": tensor(numbers * factor)}), want)


def test_empty_tensors_and_large_numbers_have_fingerprints() -> None:
    """And booleans and integers."""
    for numbers, dtype in (
        ([], "float64"),
        ([1e300, -1e308], "float64"),
        ([True, False], "bool"),
        ([1 << 60], "int64"),
    ):
        want = expected(trace({"y": tensor([1.0])}))
        odd = trace({"y": tensor(numbers, dtype)})
        assert is_shown(odd, odd, want)
        assert not is_shown(odd, trace({"y": tensor([1.0])}), want)
