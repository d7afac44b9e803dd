"""The mistakes that a submission may hold: those that it shows in the check that was made for them, whichever checks it fails.

A mistake has to fit that check in any case (`diagnose`), so it is asked about there first, once for all failed checks of a
submission. Nearly all drop out at the first question, because it is put where the mistake was told apart last time: a class runs
most mistakes in one scenario, and runs through whole checks only those that somebody made. Where the submission passes that check,
and the mistake is known to be far from all that does, no question is needed. The order of the questions changes no answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from autograder.checks.check import Check, Mistake
from autograder.checks.compare import Due, Expected, failed_otherwise
from autograder.checks.diagnose import families
from autograder.trace.trace import Seen, Tensor, Trace

FAR = 2.01  # tolerances from the truth: what lies beyond lies more than one from all that lies within one


@dataclass
class Memory:
    """What a class has taught about mistakes, by their ids and by scenarios of checks."""

    last: dict[str, int] = field(default_factory=dict)  # the scenario of its check in which a mistake was told apart
    often: Counter[tuple[str, int]] = field(default_factory=Counter)  # how many were, in a scenario of a check
    far: set[str] = field(default_factory=set)  # the mistakes that are far from all that passes the check made for them

    def order(self, check: Check, count: int) -> list[int]:
        """Return the scenarios of a check, those first that tell most apart."""
        return sorted(range(count), key=lambda place: -self.often[check.name, place])


def suspects(
    mistakes: Sequence[Mistake],
    checks: Mapping[str, Check],
    counts: Mapping[str, int],
    passed: Collection[str],
    fits: Callable[[Mistake, Check, int], bool],
    far: Callable[[Mistake, Check, int], bool],
    memory: Memory,
) -> list[Mistake]:
    """Return those mistakes that fit the check made for them, or whose check was not run.

    `checks` are those that were run, by name, `counts` tells how many scenarios each has, and `passed` names those that the
    submission passes. `fits` tells whether it shows what a mistake shows in one of them, `far` whether the mistake is far there
    from all that passes; they run a mistake, so they are asked as little as possible.
    """
    orders = {name: memory.order(check, counts[name]) for name, check in checks.items()}
    found = []
    for mistake in mistakes:
        own = checks.get(mistake.check)
        if own is None:
            found.append(mistake)
            continue
        if own.name in passed and mistake.id in memory.far:
            continue
        last = memory.last.get(mistake.id, counts[own.name])
        if last < counts[own.name] and not fits(mistake, own, last):
            continue
        apart = next((place for place in orders[own.name] if not fits(mistake, own, place)), None)
        if apart is None:
            found.append(mistake)
            continue
        memory.last[mistake.id] = apart
        memory.often[own.name, apart] += 1
        orders[own.name] = memory.order(own, counts[own.name])
        if far(mistake, own, apart):
            memory.far.add(mistake.id)
    return found


def is_far(check: Check, expected: Expected, mistaken: Trace) -> bool:
    """Tell whether what a mistake shows is plainly not alike what anything shows that meets what is expected."""
    if not check.builtins and (families(mistaken.operators) or mistaken.inherits):
        return True
    if mistaken.autograd and not check.autograd:
        return True
    if len(mistaken.observations) < len(expected.trace.observations):
        return True
    for step, want in enumerate(expected.trace.observations):
        got = mistaken.observations[step]
        if failed_otherwise(step, want.failure, got.failure) is not None:
            return True
        if any(_lies_far(due, got.seen) for due in expected.due(check.looks_at)[step]):
            return True
    return False


def _lies_far(due: Due, seen: Mapping[str, Seen]) -> bool:
    if due.address not in seen:
        return True
    got, want = seen[due.address], due.value
    if type(got) is float or type(want) is float:  # which may count as the same as a tensor of one number
        return False
    if not isinstance(want, Tensor) or not isinstance(got, Tensor):
        return type(got) is not type(want) or got != want
    if got.dtype != want.dtype or got.array.shape != want.array.shape:
        return True
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(np.subtract(due.exact, got.array))
        return bool((gap > FAR * due.tolerance).any())
