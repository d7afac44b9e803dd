"""Tell of a whole reply that it plainly meets a check, its numbers in one comparison, not tensor by tensor.

Most replies of a class have the same words and are right. What such words ask of the numbers is found once; then a reply is right
where each number lies as near to its truth as `compare` asks. It only ever says yes, or that somebody has to look closer: what
differs, and how, is for `compare`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autograder.checks.check import Check
from autograder.checks.compare import Expected, Numbers, difference, failed_otherwise
from autograder.trace.reply import Form, Reply, Words
from autograder.trace.trace import Tensor


@dataclass(frozen=True)
class Wanted:
    """What is asked of one array of a reply: the truth of each number and how far from it that may lie; infinite: anywhere."""

    array: str
    exact: Numbers
    tolerance: Numbers

    def is_met(self, reply: Reply) -> bool:
        """Tell whether it is; False as well where a number is none."""
        given = reply.arrays[self.array]
        with np.errstate(invalid="ignore", over="ignore"):
            return bool((np.abs(np.subtract(self.exact, given)) <= self.tolerance).all())


def wanted(check: Check, expected: Sequence[Expected], words: Words) -> tuple[Wanted, ...] | None:
    """Return what a check asks of the numbers of all replies with these words; None where the words do not plainly meet it."""
    if len(words.forms) != len(expected):
        return None
    asked: dict[str, Wanted] = {}
    for one, form in zip(expected, words.forms, strict=True):
        if check.offences(form.empty) or not _is_met(check, one, form, words, asked):
            return None
    return tuple(asked.values())


def _is_met(check: Check, expected: Expected, form: Form, words: Words, asked: dict[str, Wanted]) -> bool:
    """Tell whether the words of one trace plainly meet what is expected, and write down what is asked of its numbers."""
    if len(form.empty.observations) < len(expected.trace.observations):
        return False
    for step, want in enumerate(expected.trace.observations):
        got, places = form.empty.observations[step], form.tensors[step]
        if failed_otherwise(step, want.failure, got.failure) is not None:
            return False
        for due in expected.due(check.looks_at)[step]:
            place = places.get(due.address)
            if isinstance(due.value, Tensor):
                if place is None or place.at is None:
                    return False
                if place.dtype != due.value.dtype or place.shape != due.value.array.shape:
                    return False
                if not _write(due.exact, due.tolerance, place.array, place.at, words, asked):
                    return False
            elif (
                place is not None
                or due.address not in got.seen
                or difference(due.address, due.value, due.truth, got.seen[due.address], due.tolerance) is not None
            ):
                return False
    return True


def _write(exact: Numbers, tolerance: float, name: str, at: int, words: Words, asked: dict[str, Wanted]) -> bool:
    _, shape, _, count = words.layout[name]
    if len(shape) != 1:
        return False
    if name not in asked:
        asked[name] = Wanted(name, np.zeros(count), np.full(count, np.inf))
    here = slice(at, at + exact.size)
    # Whoever sends two tensors in one place, to have only one of them looked at, is looked at more closely.
    if not np.isinf(asked[name].tolerance[here]).all() or not np.isfinite(tolerance):
        return False
    asked[name].exact[here] = exact.reshape(-1)
    asked[name].tolerance[here] = tolerance
    return True
