"""Give a failing trace the name of the mistake that makes the same trace, or stay silent.

A mistake fits a check when, in every scenario of the check, the submission shows what the mistake shows, to the check's
tolerance, and the mistake itself differs from the reference. Where several fit, the one that also fits most other checks of the
exercise wins, then the one made for this check. One that does not fit the check made for it is ruled out. A crash fits only a
crash with the same words: many ways lead to a TypeError, and a wrong diagnosis is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from autograder.checks.check import Check
from autograder.checks.compare import QUIET, Expected, agrees, differences
from autograder.trace.scenario import matches
from autograder.trace.trace import Failure, Observation, Trace

FAMILY = re.compile(r"(batch|layer|group|instance|rms|weight)_norm")
Traces = Mapping[str, Sequence[Trace]]  # by the name of the check, one for each scenario


class Known(Protocol):
    """A mistake, or what is shipped of one: the exercise that it spoils, and the check made for it."""

    @property
    def exercise(self) -> str:
        """The name that it spoils."""

    @property
    def check(self) -> str:
        """The name of the check."""


K = TypeVar("K", bound=Known)


def choose(
    check: Check,
    exercise: Sequence[Check],
    counts: Mapping[str, int],
    wrong: Sequence[int],
    known: Sequence[K],
    fits: Callable[[K, Check, int], bool],
    errs: Callable[[K, int], bool],
    shown: Callable[[int], int] = lambda _: 0,
) -> K | None:
    """Return the one of the known mistakes that a submission shows, or None: the rule of this module, whatever a mistake is.

    `counts` tells how many scenarios each check of the exercise has, `wrong` in which of this check's the submission is wrong.
    `fits` tells whether the submission shows what a mistake shows in one scenario of a check, `errs` whether the mistake itself
    differs from the reference in one of this check's. `shown` tells how many of the known have been asked about in a scenario; it
    changes the order of the questions and not the answer.
    """
    if not wrong:
        return None
    order = [*sorted(wrong, key=shown, reverse=True), *(i for i in range(counts[check.name]) if i not in wrong)]
    best = max(order, key=shown)
    if shown(best) > shown(order[0]):  # where the submission is right, those that are wrong drop out
        order = [best, *(i for i in order if i != best)]

    def fits_all(entry: K, other: Check) -> bool:
        return all(fits(entry, other, i) for i in range(counts[other.name]))

    fitting = [
        entry
        for entry in known
        if entry.exercise == check.exercise and all(fits(entry, check, i) for i in order) and errs(entry, wrong[0])
    ]
    # Where little of the exercise is looked at, many mistakes look the same; the check made for one knows it best.
    own = {other.name: other for other in exercise}
    fitting = [entry for entry in fitting if entry.check not in own or fits_all(entry, own[entry.check])]
    if len(fitting) < 2:
        return fitting[0] if fitting else None

    def weight(entry: K) -> tuple[int, bool]:
        return sum(fits_all(entry, other) for other in exercise), entry.check == check.name

    return max(fitting, key=weight)


def wrong_places(check: Check, expected: Sequence[Expected], given: Sequence[Trace]) -> list[int]:
    """Return the scenarios in which a submission is wrong, the shortest first: it tells as much, and sooner."""
    return shortest_first([i for i, trace in enumerate(given) if is_wrong(check, expected[i], trace)], given)


def shortest_first(places: Sequence[int], given: Sequence[Trace]) -> list[int]:
    """Return scenarios in the order of the steps that a submission came to in them."""
    return sorted(places, key=lambda i: len(given[i].observations))


def is_wrong(check: Check, expected: Expected, trace: Trace) -> bool:
    """Tell whether a check fails in one scenario."""
    return bool(check.offences(trace)) or next(differences(expected, trace, check.looks_at), None) is not None


@QUIET
def alike(check: Check, expected: Expected, mistaken: Trace, given: Trace) -> bool:
    """Tell whether two traces show the same at the addresses that a check looks at, to its tolerance."""
    if len(mistaken.observations) != len(given.observations):
        return False
    if not check.builtins and (
        families(mistaken.operators) != families(given.operators) or bool(mistaken.inherits) != bool(given.inherits)
    ):
        return False
    if mistaken.autograd != given.autograd and not check.autograd:
        return False
    for step, (want, got) in enumerate(zip(mistaken.observations, given.observations, strict=True)):
        if want.failure is not None or got.failure is not None:
            reference = expected.trace.observations[step].failure if step < len(expected.trace.observations) else None
            if failure_key(want.failure, reference) != failure_key(got.failure, reference):
                return False
        if any(compared(check, expected, step, address, got) for address in got.seen.keys() - want.seen.keys()):
            return False
        tolerances = expected.tolerances[step] if step < len(expected.tolerances) else {}
        for address, value in want.seen.items():
            if not expected.reads(check.looks_at, address) and not compared(check, expected, step, address, got):
                continue
            if address not in got.seen or not agrees(value, got.seen[address], tolerances.get(address, 0.0)):
                return False
    return True


def compared(check: Check, expected: Expected, step: int, address: str, got: Observation) -> bool:
    """Tell whether an address counts when two traces are compared."""
    if check.looks_at(address) and matches(address, expected.only):
        return True
    # What was returned in place of an error, or of the parts that are due, tells two careless answers apart.
    refused = step < len(expected.trace.observations) and expected.trace.observations[step].failure is not None
    if refused and address in ("y", "result"):
        return True
    return address in ("result", "result holds") and _lacks_parts(check, expected, step, got)


def _lacks_parts(check: Check, expected: Expected, step: int, got: Observation) -> bool:
    due = expected.trace.observations[step].seen if step < len(expected.trace.observations) else {}
    return any(address not in got.seen for address in due if address.startswith("result") and check.looks_at(address))


def failure_key(given: Failure | None, reference: Failure | None) -> str:
    """Return the same text for failures that count as the same: of the kind that is due, or of one type with the same words."""
    if given is None:
        return ""
    due = reference is not None and reference.type in (given.type, *given.bases)
    return f"{given.type}" if due else f"{given.type}: {_words(given.message)}"


def families(operators: Sequence[str]) -> set[str]:
    """Return the layers that the operators belong to: batch_norm for native_batch_norm and cudnn_batch_norm alike."""
    return {family.group() for name in operators if (family := FAMILY.search(name))}


def _words(message: str) -> str:
    return re.sub(r"\d+", "#", message.strip().lower())
