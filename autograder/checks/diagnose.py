"""Give a failing trace the name of the mistake that makes the same trace, or stay silent.

A mistake fits a check when, in every scenario of the check, the submission shows what the mistake shows, to the check's
tolerance, and the mistake itself differs from the reference. Where several fit, the one that also fits most other checks of the
exercise wins, then the one made for this check. One that does not fit the check made for it is ruled out. A crash fits only a
crash with the same words: many ways lead to a TypeError, and a wrong diagnosis is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from autograder.checks.check import Check, Mistake
from autograder.checks.compare import Expected, difference, differences
from autograder.trace.scenario import matches
from autograder.trace.trace import Failure, Observation, Trace

FAMILY = re.compile(r"(batch|layer|group|instance|rms|weight)_norm")
Traces = Mapping[str, Sequence[Trace]]  # by the name of the check, one for each scenario
Show = Callable[[Mistake, Check, int], Trace]  # what a mistake does in one scenario of a check


def diagnose(
    check: Check,
    exercise: Sequence[Check],
    expected: Mapping[str, Sequence[Expected]],
    given: Traces,
    mistakes: Sequence[Mistake],
    show: Show,
) -> Mistake | None:
    """Return the mistake that a submission shows in a failing check, or None.

    `exercise` are all checks of the exercise that were run. `show` runs a mistake, so it is asked as little as possible: first
    about a scenario in which the submission is wrong, where nearly every mistake drops out.
    """
    wrong = [
        i for i in range(len(given[check.name])) if _is_wrong(check, expected[check.name][i], given[check.name][i])
    ]
    if not wrong:
        return None
    wrong.sort(key=lambda i: len(given[check.name][i].observations))
    order = [*wrong, *(i for i in range(len(given[check.name])) if i not in wrong)]

    def fits(mistake: Mistake, other: Check, places: Sequence[int]) -> bool:
        wanted, seen = expected[other.name], given[other.name]
        return all(alike(other, wanted[i], show(mistake, other, i), seen[i]) for i in places)

    fitting = [
        mistake
        for mistake in mistakes
        if mistake.exercise == check.exercise
        and fits(mistake, check, order)
        and _is_wrong(check, expected[check.name][wrong[0]], show(mistake, check, wrong[0]))
    ]
    # Where little of the exercise is looked at, many mistakes look the same; the check made for one knows it best.
    own = {other.name: other for other in exercise}
    fitting = [
        mistake
        for mistake in fitting
        if mistake.check not in own or fits(mistake, own[mistake.check], range(len(given[mistake.check])))
    ]
    if len(fitting) < 2:
        return fitting[0] if fitting else None

    def weight(mistake: Mistake) -> tuple[int, bool]:
        elsewhere = sum(fits(mistake, other, range(len(given[other.name]))) for other in exercise)
        return elsewhere, mistake.check == check.name

    return max(fitting, key=weight)


def _is_wrong(check: Check, expected: Expected, trace: Trace) -> bool:
    return bool(check.offences(trace)) or next(differences(expected, trace, check.looks_at), None) is not None


def alike(check: Check, expected: Expected, mistaken: Trace, given: Trace) -> bool:
    """Tell whether two traces show the same at the addresses that a check looks at, to its tolerance."""
    if len(mistaken.observations) != len(given.observations):
        return False
    if not check.builtins and (
        _families(mistaken.operators) != _families(given.operators) or bool(mistaken.inherits) != bool(given.inherits)
    ):
        return False
    if mistaken.autograd != given.autograd and not check.autograd:
        return False
    for step, (want, got) in enumerate(zip(mistaken.observations, given.observations, strict=True)):
        reference = expected.trace.observations[step].failure if step < len(expected.trace.observations) else None
        if not _same_failure(want.failure, got.failure, reference):
            return False
        tolerances = expected.tolerances[step] if step < len(expected.tolerances) else {}
        for address in want.seen.keys() | got.seen.keys():
            # What was returned in place of an error, or of the parts that are due, tells two careless answers apart.
            instead = reference is not None and address in ("y", "result")
            instead |= address in ("result", "result holds") and _lacks_parts(check, expected, step, got)
            if not instead and not (check.looks_at(address) and matches(address, expected.only)):
                continue
            if address not in want.seen or address not in got.seen:
                return False
            a, b = want.seen[address], got.seen[address]
            if difference(address, a, a, b, tolerances.get(address, 0.0)) is not None:
                return False
    return True


def _lacks_parts(check: Check, expected: Expected, step: int, got: Observation) -> bool:
    due = expected.trace.observations[step].seen if step < len(expected.trace.observations) else {}
    return any(address not in got.seen for address in due if address.startswith("result") and check.looks_at(address))


def _same_failure(mistaken: Failure | None, given: Failure | None, reference: Failure | None) -> bool:
    if mistaken is None or given is None:
        return mistaken is given
    if mistaken.type != given.type:
        return False
    expected_kind = reference is not None and reference.type in (given.type, *given.bases)
    return expected_kind or _words(mistaken.message) == _words(given.message)


def _families(operators: Sequence[str]) -> set[str]:
    """The layers that the operators belong to: batch_norm for native_batch_norm and cudnn_batch_norm alike."""
    return {family.group() for name in operators if (family := FAMILY.search(name))}


def _words(message: str) -> str:
    return re.sub(r"\d+", "#", message.strip().lower())
