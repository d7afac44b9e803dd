"""How far an honest answer may lie from the truth: derived for each scenario, never guessed.

The reference runs in float64 (the truth) and in float32. The largest gap between the two, at one address, is what rounding alone
does to an honest layer there; the tolerance is MARGIN times that gap, and never below MARGIN times one float32 rounding of the
largest number. It holds for float64 scenarios too, since computing inside in float32 is honest: scenarios are made such that
every known mistake lies far outside (docs/tolerances.md holds the measured margins).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from autograder.trace.trace import Seen, Tensor, Trace

MARGIN = 30.0
ROUNDING = 2.0**-23  # of float32, relative
FLOOR = 1e-8  # absolute, below which a gap is not believed (a truth of exactly zero)

Tolerances = tuple[Mapping[str, float], ...]  # for each step, by address


def derive(truth: Trace, low: Trace, absolute: float | None = None) -> Tolerances:
    """Return the tolerance of each number of a scenario from its float64 and its float32 trace.

    tolerance = MARGIN * max(|low - truth|_max, 2^-23 * |truth|_max, 1e-8), or `absolute` where a check sets one.
    """
    return tuple(
        {
            address: absolute if absolute is not None else _one(exact, rough.seen.get(address))
            for address, exact in observation.seen.items()
            if isinstance(exact, Tensor) or type(exact) is float
        }
        for observation, rough in zip(truth.observations, low.observations, strict=False)
    )


def _one(exact: Seen, rough: Seen) -> float:
    a, b = numbers(exact), numbers(rough)
    if a is None or b is None or a.shape != b.shape or a.size == 0:
        return MARGIN * FLOOR
    with np.errstate(invalid="ignore", over="ignore"):
        gap, size = _largest(np.abs(a - b)), _largest(np.abs(a))
    return MARGIN * max(gap if np.isfinite(gap) else 0.0, ROUNDING * size if np.isfinite(size) else 0.0, FLOOR)


def _largest(given: npt.NDArray[np.float64]) -> float:
    """Return the largest number, 0 at least, whatever is not a number beside it."""
    largest = float(given.max(initial=0.0))
    return float(np.nanmax(given, initial=0.0)) if math.isnan(largest) else largest


def numbers(given: Seen) -> npt.NDArray[np.float64] | None:
    """Return the numbers of a tensor or a float as float64, or None for anything else."""
    if isinstance(given, Tensor):
        return given.array.astype(np.float64)
    return np.array(given, dtype=np.float64) if type(given) in (float, int) else None
