"""The words that a lab is written in: draws that do not disturb one another, checks that are found by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.checks.check import Check, Draw, Lab, Variant
from autograder.trace.scenario import draw


def some(seed: int, name: str) -> list[object]:
    """A few draws of every kind."""
    d = Draw(seed, name)
    return [d.tensor(2, 3), d.number(0, 9), d.numbers(-1, 1, 3), d.tensor(4, positive=True)]


@given(st.integers(0, 2**63 - 1), st.text(max_size=12))
def test_a_seed_and_a_name_are_the_same_draws(seed: int, name: str) -> None:
    """So a grade can be replayed."""
    assert some(seed, name) == some(seed, name)


@given(st.integers(0, 2**40))
def test_another_seed_or_name_is_other_draws(seed: int) -> None:
    """No check can be guessed from another one, no run from another run."""
    assert some(seed, "a") != some(seed + 1, "a")
    assert some(seed, "a") != some(seed, "b")


def test_the_draws_are_pinned() -> None:
    """A report names a seed; next year it must mean the same scenarios."""
    d = Draw(2015, "bn1d-training")
    assert [d.tensor(2).seed, d.number(0, 1), d.tensor(2).seed] == PINNED


PINNED = [4454908224430175259, 0.49, 2957568687388922944]


def test_two_tensors_of_a_check_are_different() -> None:
    """Each has a seed of its own."""
    d = Draw(1, "c")
    assert (draw(d.tensor(3)) != draw(d.tensor(3))).all()


@given(st.integers(0, 999), st.floats(-50, 50), st.floats(0.01, 50))
def test_a_number_lies_between_and_reads_well(seed: int, low: float, width: float) -> None:
    """Two decimals."""
    number = Draw(seed, "c").number(low, low + width)
    assert low - 0.005 <= number <= low + width + 0.005
    assert number == round(number, 2)


A = Check("a", "E", 1, "title", lambda _: (), keys=("y", "m.*.grad"))
LAB = Lab("lab", "A lab", ("E",), (A,), {})


def test_a_check_looks_at_its_keys() -> None:
    """And at nothing else."""
    assert [address for address in ("y", "x.grad", "m.w.grad", "yy") if A.looks_at(address)] == ["y", "m.w.grad"]


def test_a_check_is_found_by_its_name() -> None:
    """Or not at all."""
    assert LAB.check("a") is A
    assert LAB.names == {"a"}
    with pytest.raises(KeyError, match="no check is called 'b'"):
        LAB.check("b")


def test_a_variant_is_one_file() -> None:
    """Its sources in order."""
    assert Variant("v", "t", {"A": "a = 1", "B": "b = 2"}).file == "a = 1\n\nb = 2\n"
