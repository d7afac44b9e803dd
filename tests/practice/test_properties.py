"""Differences are sorted by what they are about: one line for each subject, what is wrong first."""

from __future__ import annotations

import pytest

from autograder.checks.check import Check
from autograder.checks.compare import Expected
from autograder.practice.properties import ERRORS, RUNS, properties, smallest, subject_of
from autograder.trace.scenario import Call as Step
from autograder.trace.scenario import Recipe, Scenario
from autograder.trace.trace import Failure, Observation, Opaque, Seen, Trace

CHECK = Check("c", "f", 1, "a check", lambda _: (), ("y", "m.*", "kind of m.*", "x.grad"))
LARGE, SMALL = (Scenario(f"{n} numbers", (Step("f", (Recipe((n,)),)),)) for n in (9, 2))
REFUSED = Failure("ValueError", ("ValueError",), "")


def trace(*steps: dict[str, Seen] | Failure) -> Trace:
    return Trace("s", tuple(Observation({}, s) if isinstance(s, Failure) else Observation(s) for s in steps))


def expected(*of: Trace) -> tuple[Expected, ...]:
    return tuple(Expected(entry, entry, ({},) * len(entry.observations)) for entry in of)


RIGHT = trace({"y": 1, "other": 5}, {"m.a": 2, "kind of m.a": "a buffer", "m.gone": Opaque("missing"), "x.grad": 3})


@pytest.mark.parametrize(
    ("address", "subject"),
    [
        ("y", "y"),
        ("x.grad", "x.grad"),
        ("x is unchanged", "x is unchanged"),
        ("kind of m.running_var", "m.running_var"),
        ("shape of m.weight", "m.weight"),
        ("m.running_var keeps a graph", "m.running_var"),
        ("m.weight.grad", "m.weight.grad"),
        ("result['batch'][0]", "result['batch']"),
        ("result[1]", "result[1]"),
        ("result holds", "result"),
        ("len(result)", "len(result)"),
        ("argument 0 is unchanged", "argument 0"),
        ("argument 2: 0.weight", "argument 2"),
        ("state_dict keys", "state_dict keys"),
    ],
)
def test_an_address_has_a_subject(address: str, subject: str) -> None:
    """A buffer's kind, shape and value are one; its gradient is another."""
    assert subject_of(address) == subject


def test_what_is_right_passes_and_what_is_due_to_be_absent_is_not_mentioned() -> None:
    """Nor what the check does not look at."""
    made = properties(CHECK, (LARGE,), expected(RIGHT), (RIGHT,))
    assert [(entry.subject, entry.passed) for entry in made] == [("y", True), ("m.a", True), ("x.grad", True)]
    assert smallest(made, (LARGE,)) is None


def test_what_is_wrong_comes_first_with_its_smallest_scenario() -> None:
    """And with the number of scenarios that are right."""
    wrong = trace({"y": 1}, {"m.a": 7, "kind of m.a": "a parameter", "m.gone": Opaque("missing"), "x.grad": 3})
    made = properties(CHECK, (LARGE, SMALL, SMALL), expected(RIGHT, RIGHT, RIGHT), (wrong, wrong, RIGHT))
    first = made[0]
    assert (first.subject, first.agreed, first.seen, first.place) == ("m.a", 1, 3, 1)
    assert first.found is not None
    assert first.found.line == "m.a should be 2; it is 7"
    assert [entry.passed for entry in made] == [False, True, True]
    assert smallest(made, (LARGE, SMALL, SMALL)) is first


def test_what_was_not_reached_is_neither_right_nor_wrong() -> None:
    """When the code fails on the way."""
    broken = trace({"y": 1}, Failure("TypeError", ("TypeError",), "no"))
    made = {entry.subject: entry for entry in properties(CHECK, (LARGE,), expected(RIGHT), (broken,))}
    assert not made[RUNS].passed
    assert made["y"].passed
    assert not made["m.a"].reached


def test_an_error_that_is_due_is_a_property() -> None:
    """Kept or not."""
    due = trace(REFUSED)
    (kept,) = properties(CHECK, (SMALL,), expected(due), (due,))
    assert (kept.subject, kept.passed) == (ERRORS, True)
    (missed,) = properties(CHECK, (SMALL,), expected(due), (trace({"y": 1}),))
    assert (missed.subject, missed.passed) == (ERRORS, False)
