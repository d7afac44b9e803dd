"""A mistake drops out where the submission shows something else, at the first question if it can be, and never wrongly."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.checks.check import Check, Mistake
from autograder.checks.compare import Expected, differences
from autograder.checks.diagnose import alike
from autograder.checks.suspects import Memory, is_far, suspects
from autograder.trace.trace import Failure, Observation, Opaque, Seen, Tensor, Trace

CHECK = Check("values", "f", 1, "values", lambda _: (), ("result*",), autograd=False)
OTHER = Check("other", "f", 1, "other", lambda _: (), ("result*",))
TOLERANCE = 0.1
ERROR = Failure("ValueError", ("Exception",), "no")


def tensor(*numbers: float, dtype: str = "float64") -> Tensor:
    """A tensor of some numbers."""
    return Tensor(dtype, np.array(numbers, dtype=dtype))


def trace(failure: Failure | None = None, autograd: bool = False, **seen: Seen) -> Trace:
    """A trace of one step."""
    return Trace("s", (Observation(seen, failure),), autograd=autograd)


def expected(**seen: Seen) -> Expected:
    """What is expected, with the same tolerance everywhere."""
    return Expected(trace(**seen), trace(**seen), (dict.fromkeys(seen, TOLERANCE),))


DUE = expected(result=tensor(1.0, 2.0), result_mode="kept", result_count=3)
RIGHT = {"result": tensor(1.0, 2.0), "result_mode": "kept", "result_count": 3}


@pytest.mark.parametrize(
    ("mistaken", "far"),
    [
        (trace(**RIGHT), False),
        (trace(**RIGHT | {"result": tensor(1.0, 2.15)}), False),  # who passes may be as near as 0.05
        (trace(**RIGHT | {"result": tensor(1.0, 2.2)}), False),
        (trace(**RIGHT | {"result": tensor(1.0, 2.25)}), True),
        (trace(**RIGHT | {"result": tensor(1.0, float("inf"))}), True),
        (trace(**RIGHT | {"result": tensor(1.0, float("nan"))}), False),  # it is, but not plainly
        (trace(**RIGHT | {"result": tensor(1.0, 2.0, dtype="float32")}), True),
        (trace(**RIGHT | {"result": tensor(1.0)}), True),
        (trace(**RIGHT | {"result": 1.0}), False),
        (trace(**RIGHT | {"result": Opaque("list")}), True),
        (trace(**RIGHT | {"result_mode": "lost"}), True),
        (trace(**RIGHT | {"result_count": True}), True),
        (trace(**RIGHT | {"result_count": 3.0}), False),
        (trace(**RIGHT | {"result_more": 1, "elsewhere": 2}), False),
        (trace(result=tensor(1.0, 2.0)), True),
        (trace(ERROR), True),
        (trace(autograd=True, **RIGHT), True),
        (Trace("s", ()), True),
    ],
)
def test_far_is_what_nothing_that_passes_shows(mistaken: Trace, far: bool) -> None:
    """Whoever lies within a tolerance of the truth lies more than one from what is far."""
    assert is_far(CHECK, DUE, mistaken) is far
    for off in (-0.0999, -0.05, 0.0, 0.05, 0.0999):
        passes = trace(**RIGHT | {"result": tensor(1.0, 2.0 + off)})
        assert next(differences(DUE, passes, CHECK.looks_at), None) is None
        assert not (far and alike(CHECK, DUE, mistaken, passes))


def test_an_error_that_is_due_is_not_far() -> None:
    """Another one is, and so is none."""
    due = Expected(trace(ERROR), trace(ERROR), ({},))
    others = (trace(ERROR), trace(Failure("TypeError", ("Exception",), "no")), trace(**RIGHT))
    assert [is_far(CHECK, due, mistaken) for mistaken in others] == [False, True, True]


def mistake(name: str, check: str = "values") -> Mistake:
    """A mistake that is only a name."""
    return Mistake(name, "f", check, "t", "s", "h", "p", "")


class Questions:
    """Answers the questions about one submission, and keeps them: a mistake fits but in the scenarios that tell it apart."""

    def __init__(self, apart: dict[str, set[int]], far: bool = False) -> None:
        self.apart, self.far, self.asked = apart, far, 0

    def of(self, memory: Memory, passed: tuple[str, ...] = ()) -> list[str]:
        """Who is left."""
        known = [*map(mistake, sorted(self.apart)), mistake("elsewhere", "not run")]
        checks = {"values": CHECK, "other": OTHER}
        found = suspects(known, checks, {"values": 5, "other": 2}, passed, self.fits, lambda m, c, i: self.far, memory)
        return [entry.id for entry in found]

    def fits(self, entry: Mistake, check: Check, place: int) -> bool:
        """Tell whether one fits."""
        assert check is CHECK
        self.asked += 1
        return place not in self.apart[entry.id]


APART = {"a": {3}, "b": {3, 4}, "c": {0}, "d": set[int]()}


def test_who_is_told_apart_somewhere_is_no_suspect() -> None:
    """Whose check was not run stays one."""
    assert Questions(APART).of(Memory()) == ["d", "elsewhere"]


def test_the_next_submission_is_asked_about_where_the_last_one_was_told_apart() -> None:
    """One question for each, but for the one that fits; none where what passes is far."""
    memory, first, again, right = Memory(), Questions(APART, far=True), Questions(APART), Questions(APART)
    assert first.of(memory) == again.of(memory) == right.of(memory, passed=("values",)) == ["d", "elsewhere"]
    assert first.asked > again.asked > right.asked
    assert (again.asked, right.asked) == (3 + 5, 5)


def test_a_submission_of_another_kind_is_asked_about_everywhere() -> None:
    """Memory says where to begin, not where to end."""
    memory = Memory()
    Questions(APART).of(memory)
    assert Questions({"a": {1}, "b": set(), "c": {4}, "d": {2}}).of(memory) == ["b", "elsewhere"]
