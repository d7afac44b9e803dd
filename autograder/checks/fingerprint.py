"""What a known mistake shows in one scenario, in a few numbers: enough to recognize it by, too little to rebuild it from.

A step of a trace is reduced to one hash of everything that is not a number (which addresses, shapes, dtypes, kinds, the class of
the failure) and to two projections of the numbers at each address, onto signs and sizes that only depend on how many there are.
What is as the reference says is not stored. Numbers that differ from machine to machine, because rounding made them, are stored
as their order of magnitude alone. `student` decides with it, offline, what `diagnose.alike` decides with the mistake at hand.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from autograder.checks.check import Check
from autograder.checks.compare import Expected
from autograder.checks.diagnose import compared, failure_key, families
from autograder.checks.tolerance import FLOOR, MARGIN, ROUNDING
from autograder.trace.trace import Seen, Tensor, Trace

FORMAT = 2  # to be raised when the same trace gets another fingerprint
SAME = 0.5  # tolerances from the truth within which a mistake does what the reference does; a submission gets one more
NOISE = 0.3  # tolerances that a mistake's rounding may move its own number before only the magnitude counts
MAGNITUDES = 5.0  # binary orders that two errors made by rounding may lie apart
JUST = 3.0  # tolerances up to which a mistake is only just wrong
LARGEST = 1e150  # numbers beyond are cut, so that sums of them stay numbers

Numbers: TypeAlias = npt.NDArray[np.float64]
# One projection (of a single number), [two projections], [the binary logarithm of an error made by rounding], [] any number,
# None as the reference has it. A single projection of many numbers is read too, and is less sure.
Number: TypeAlias = float | list[float] | None
Mark: TypeAlias = (
    Any  # 0: as the reference says. Else for each step 0 or [hash, a Number for each address that has numbers]
)


@dataclass(frozen=True)
class Step:
    """One step of a trace, reduced: a hash of all that is no number, the kinds by address, the numbers by address."""

    form: int
    kinds: Mapping[str, str]
    numbers: Mapping[str, Numbers]


def reduced(check: Check, expected: Expected, trace: Trace) -> tuple[Step, ...]:
    """Return the steps of a trace, at the addresses that a check looks at."""
    steps: list[Step] = []
    evidence = _evidence(check, trace)
    for place, observation in enumerate(trace.observations):
        due = expected.trace.observations[place].seen if place < len(expected.trace.observations) else {}
        kinds: dict[str, str] = {}
        numbers: dict[str, Numbers] = {}
        for address in sorted(observation.seen):
            if compared(check, expected, place, address, observation):
                kinds[address], found = _reduced(observation.seen[address], due.get(address))
                if found is not None:
                    numbers[address] = found
        reference = expected.trace.observations[place].failure if place < len(expected.trace.observations) else None
        key = failure_key(observation.failure, reference)
        steps.append(Step(_hash([evidence if place == 0 else "", key, kinds]), kinds, numbers))
    return tuple(steps)


def fingerprint(check: Check, expected: Expected, mistaken: Trace, exact: Trace | None = None) -> Mark:
    """Return the fingerprint of what a mistake shows; `exact` is the same run in float64, where that is another run."""
    truth, given = (reduced(check, expected, trace) for trace in (expected.trace, mistaken))
    finer = given if exact is None else reduced(check, expected, exact)
    marks = [
        _step_mark(step, _at(truth, place), _at(finer, place), _tolerances(expected, place))
        for place, step in enumerate(given)
    ]
    return 0 if len(given) == len(truth) and not any(marks) else marks


def shows(mark: Mark, expected: Expected, truth: Sequence[Step], given: Sequence[Step]) -> bool:
    """Tell whether a submission shows what a mistake shows, from the reduced traces of the reference and the submission."""
    marks = [0] * len(truth) if mark == 0 else mark
    return len(marks) == len(given) and all(
        _fits(part, _at(truth, place), step, _tolerances(expected, place))
        for place, (part, step) in enumerate(zip(marks, given, strict=True))
    )


def _step_mark(step: Step, truth: Step | None, finer: Step | None, tolerances: Mapping[str, float]) -> Mark:
    numbers = [_number(address, step, truth, finer, tolerances) for address in step.numbers]
    if truth is not None and step.form == truth.form and all(number is None for number in numbers):
        return 0
    return [step.form, *numbers]


def _number(
    address: str, step: Step, truth: Step | None, finer: Step | None, tolerances: Mapping[str, float]
) -> Number:
    given, tolerance = step.numbers[address], _tolerance(address, step, tolerances)
    error = _error(address, step, truth)
    if error is not None and error <= SAME * tolerance:
        return None
    if _noise(address, step, finer) > NOISE * tolerance:
        return [] if error is None else [round(math.log2(max(error, tolerance)), 1)]
    reach = _reach(given.size, tolerance)
    if given.size == 1:
        return _rounded(_project(given, 0), reach)
    return [_rounded(_project(given, which), reach) for which in (0, 1)]


def _fits(mark: Mark, truth: Step | None, given: Step, tolerances: Mapping[str, float]) -> bool:
    if mark == 0:
        mark = [truth.form if truth is not None else None] + [None] * len(given.numbers)
    if given.form != mark[0] or len(given.numbers) != len(mark) - 1:
        return False
    return all(
        _number_fits(number, address, truth, given, tolerances)
        for number, address in zip(mark[1:], given.numbers, strict=True)
    )


def _number_fits(
    number: Number, address: str, truth: Step | None, given: Step, tolerances: Mapping[str, float]
) -> bool:
    tolerance = _tolerance(address, given, tolerances)
    numbers = given.numbers[address]
    parts = [number] if isinstance(number, int | float) else number
    if parts is not None and (isinstance(number, int | float) or len(parts) == 2):
        reach = _reach(numbers.size, tolerance) * 1.1  # what is stored was rounded to less than a tenth of it
        return all(abs(_project(numbers, which) - want) <= reach for which, want in enumerate(parts))
    if parts == []:
        return True
    error = _error(address, given, truth)
    if error is None:
        return False
    if parts is None:
        return error <= (1 + SAME) * tolerance
    # Where the mistake itself is only just wrong, it may be right on another machine.
    if error <= tolerance and 2.0 ** parts[0] > JUST * tolerance:
        return False
    return abs(math.log2(max(error, tolerance)) - parts[0]) <= MAGNITUDES


def _error(address: str, step: Step, truth: Step | None) -> float | None:
    """Return the largest difference at an address, or None where the two cannot be compared."""
    if truth is None or truth.kinds.get(address) != step.kinds[address]:
        return None
    return float(np.abs(step.numbers[address] - truth.numbers[address]).max(initial=0.0))


def _noise(address: str, step: Step, finer: Step | None) -> float:
    """Return how far rounding moved the numbers of a mistake; its dtype may be another in the finer run."""
    exact = finer.numbers.get(address) if finer is not None else None
    if exact is None or exact.size != step.numbers[address].size:
        return math.inf
    return float(np.abs(step.numbers[address] - exact).max(initial=0.0))


def _tolerance(address: str, step: Step, tolerances: Mapping[str, float]) -> float:
    size = float(np.abs(step.numbers[address]).max(initial=0.0))
    return tolerances[address] if address in tolerances else MARGIN * max(ROUNDING * size, FLOOR)


def _tolerances(expected: Expected, place: int) -> Mapping[str, float]:
    return expected.tolerances[place] if place < len(expected.tolerances) else {}


def _at(steps: Sequence[Step], place: int) -> Step | None:
    return steps[place] if place < len(steps) else None


# --- kinds and numbers -------------------------------------------------------------------------------------------------------


def _reduced(given: Seen, due: Seen) -> tuple[str, Numbers | None]:
    """Return the kind of a value and its numbers, with the places that are not finite in the kind and 0 in the numbers."""
    # Where a plain float is due, an integer or a tensor of one number does as well, as in `compare.difference`.
    if type(due) is float or type(given) is float:
        number = given.array.astype(np.float64) if isinstance(given, Tensor) else given
        if isinstance(number, np.ndarray) or type(number) in (int, float):
            array = np.asarray(number, dtype=np.float64)
            if array.size == 1 and (type(due) is float or not isinstance(given, Tensor)):
                return _finite("number", array.reshape(1))
    if isinstance(given, Tensor):
        return _finite(f"{given.dtype} {given.shape}", given.array.astype(np.float64).reshape(-1))
    return f"{type(given).__name__} {given!r}", None


def _finite(kind: str, given: Numbers) -> tuple[str, Numbers]:
    odd, given = ~np.isfinite(given), np.clip(given, -LARGEST, LARGEST)
    if not odd.any():
        return kind, given
    pattern = np.where(np.isnan(given), 1, np.where(given > 0, 2, 3)) * odd
    return f"{kind} {_hash(pattern.tolist())}", np.where(odd, 0.0, given)


def _evidence(check: Check, trace: Trace) -> str:
    own = [] if check.builtins else [*sorted(families(trace.operators)), *(["inherits"] if trace.inherits else [])]
    return " ".join([*own, *(["autograd"] if trace.autograd and not check.autograd else [])])


def _hash(given: object) -> int:
    return int.from_bytes(hashlib.blake2b(json.dumps(given).encode(), digest_size=4).digest(), "little")


@lru_cache(maxsize=512)
def _weights(size: int, which: int) -> Numbers:
    """Return what the numbers of a tensor are multiplied by: between 0.5 and 1.5 in size, of either sign."""
    words = np.random.Philox(key=[size, which]).random_raw(size)
    u = (words >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0
    return np.where(u < 0, u - 0.5, u + 0.5)


def _project(given: Numbers, which: int) -> float:
    return float(given @ _weights(given.size, which))


def _reach(size: int, tolerance: float) -> float:
    """Return how far the projections of two tensors that agree may lie apart: errors add like a walk, or a little in step."""
    return tolerance * max(2.0 * math.sqrt(size), size / 8.0)


def _rounded(number: float, reach: float) -> float:
    """Return the number with the decimals that matter: to less than a tenth of what two projections may lie apart."""
    return round(number, 1 - math.floor(math.log10(reach))) if reach else number
