"""A tolerance is what rounding does to the reference, times a margin, and never nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autograder.checks.tolerance import FLOOR, MARGIN, ROUNDING, derive, numbers
from autograder.trace.trace import Observation, Opaque, Tensor, Trace


def trace(*values: Any) -> Trace:
    """One step with one tensor, or anything else."""
    seen = Tensor("float64", np.array(values)) if isinstance(values[0], float) else values[0]
    return Trace("s", (Observation({"y": seen}),))


def one(truth: Trace, low: Trace, absolute: float | None = None) -> float:
    """The tolerance at the one address."""
    return derive(truth, low, absolute)[0]["y"]


@pytest.mark.parametrize(
    ("truth", "low", "tolerance"),
    [
        ((1.0, -2.0), (1.0, -2.001), MARGIN * 0.001),  # the gap of the worst number
        ((1.0, -2.0), (1.0, -2.0), MARGIN * ROUNDING * 2),  # one rounding of the largest number
        ((1e6, 1.0), (1e6, 1.0), MARGIN * ROUNDING * 1e6),
        ((0.0, 0.0), (0.0, 0.0), MARGIN * FLOOR),  # a truth of exactly zero
        ((0.0,), (1e-12,), MARGIN * FLOOR),
        ((math.nan, 1.0), (math.nan, 1.001), MARGIN * 0.001),
        ((math.inf, 1.0), (math.inf, 1.0), MARGIN * FLOOR),  # an infinity allows nothing
        ((1.0,), (math.inf,), MARGIN * ROUNDING),  # nor does one in float32
        ((1.0, 2.0), (1.0,), MARGIN * FLOOR),  # no gap between different shapes
    ],
)
def test_the_tolerance_is_derived(truth: tuple[float, ...], low: tuple[float, ...], tolerance: float) -> None:
    """MARGIN * max(gap, rounding, floor)."""
    assert one(trace(*truth), trace(*low)) == pytest.approx(tolerance, rel=1e-9)


def test_every_tolerance_is_a_positive_number() -> None:
    """Also of nothing at all."""
    for value in (Tensor("float64", np.zeros((0, 2))), Tensor("int64", np.array(3)), 0.0, 1e300):
        assert 0 < one(trace(value), trace(value)) < math.inf


def test_an_absolute_tolerance_replaces_it() -> None:
    """Where a check sets one: two decimals of a prediction."""
    assert one(trace(1.0), trace(2.0), 0.006) == 0.006


@pytest.mark.parametrize("value", [True, 3, "text", None, Opaque("list")])
def test_what_is_no_number_has_none(value: Any) -> None:
    """It is equal or it is not."""
    assert derive(trace(value), trace(value)) == ({},)


def test_a_float32_run_that_ends_early_gives_fewer_tolerances() -> None:
    """The rest is compared exactly."""
    assert len(derive(Trace("s", (Observation(), Observation())), Trace("s", (Observation(),)))) == 1


def test_numbers() -> None:
    """Of tensors and floats; a truth value is none."""
    found = numbers(Tensor("float16", np.array([1.5], np.float16)))
    assert found is not None
    assert found.dtype == np.float64
    assert numbers(2.5) == 2.5
    assert [numbers(given) for given in (True, "1", None, Opaque("x"))] == [None] * 4
