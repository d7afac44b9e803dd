"""Two mistakes at once: name both where something tells them apart, or stay silent.

Where no single mistake explains a failing check, two may. Each of them is wrong at some spots: a spot is one address after one step
of one scenario. Where only one of the two is wrong, the submission must show just what that one shows; where neither is, it must
be right; where both are, it must be wrong in whatever way. That is asked at every spot of the check and of the checks that the
two were made for. Both must be seen alone somewhere, and no other pair may explain as much: a partner that is never seen, or one
of several, could be anything, and a wrong name is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias

from autograder.checks.check import Check
from autograder.checks.compare import QUIET, Expected, agrees, differences
from autograder.checks.diagnose import K, alike, compared, failure_key
from autograder.trace.look import RETURNED
from autograder.trace.trace import Observation, Trace

Spot: TypeAlias = tuple[int, str]  # a step and an address; "" for what was raised, or not raised, in the step
EVIDENCE: Spot = (-1, "what did the work")
WHOLE: Spot = (-2, "the whole scenario")
FEW_MISTAKES = 16  # so few that each pair of them can be run
MOST_CANDIDATES = 40  # more of them mean that this check tells mistakes apart badly


@dataclass(frozen=True)
class Signs(Generic[K]):
    """What is known about a submission and about mistakes, scenario by scenario.

    `wrong` holds, for each check that was run, the spots of each scenario where the submission is wrong; `errs` returns those
    of a mistake; `fits` tells whether the submission shows at a spot what a mistake shows there.
    """

    wrong: Mapping[str, Sequence[frozenset[Spot]]]
    errs: Callable[[K, Check, int], frozenset[Spot]]
    fits: Callable[[K, Check, int, Spot], bool]
    shown: Callable[[Check, int], int] = lambda *_: (
        0
    )  # how many mistakes have been run in a scenario: asking again is cheap


def candidates(check: Check, exercise: Sequence[Check], known: Sequence[K], signs: Signs[K]) -> list[tuple[K, K]]:
    """Return the pairs of mistakes that could both be in a submission, by where it is wrong, whatever it shows there.

    Each of the two is right where the submission is, in this check and in the one made for it, and together they are wrong
    wherever it is wrong in this check. One may undo the other, though: where an exercise has few mistakes, all its pairs are.
    """
    mistakes = [entry for entry in known if entry.exercise == check.exercise]
    if len(mistakes) <= FEW_MISTAKES:
        return [(a, b) for n, a in enumerate(mistakes) for b in mistakes[n + 1 :]]
    view = _View(check, signs)
    own = _Views({other.name: other for other in exercise}, signs, view)
    masks = []
    for entry in mistakes:
        mask = view.errs(entry)
        if mask and ((made := own.of(entry)) is None or made.errs(entry)):
            masks.append((entry, mask))
    everywhere = (1 << len(view.spots)) - 1
    return [(a, b) for n, (a, m) in enumerate(masks) for b, k in masks[n + 1 :] if m | k == everywhere]


def choose_two(check: Check, exercise: Sequence[Check], known: Sequence[K], signs: Signs[K]) -> tuple[K, ...]:
    """Return the pair of mistakes that explains a failing check, the one that is seen more in front; () when none does."""
    view = _View(check, signs)
    own = _Views({other.name: other for other in exercise}, signs, view)
    # Neither of the two may be wrong at a spot where the submission is right.
    possible = [entry for entry in known if entry.exercise == check.exercise and view.errs(entry)]
    first = [entry for entry in possible if view.is_seen(entry)]
    if len(first) > MOST_CANDIDATES:
        return ()
    found: dict[int, list[tuple[K, ...]]] = {}
    for a in first:
        for b in possible:
            # Both must be seen: one that never is could explain anything.
            if a is not b and (seen := view.explained(a, b)) is not None and min(seen) > 0:
                named = (a, b) if seen[0] >= seen[1] else (b, a)
                if all(made.explained(a, b) is not None for x in (a, b) if (made := own.of(x)) is not None):
                    found.setdefault(sum(seen), []).append(named)
    if not found:
        return ()
    best = found[max(found)]
    return best[0] if all({id(entry) for entry in pair} == {id(entry) for entry in best[0]} for pair in best) else ()


class _View(Generic[K]):
    """One check, with sets of spots as the bits of an integer, since hundreds of pairs are tried."""

    def __init__(self, check: Check, signs: Signs[K]) -> None:
        self.check, self.signs = check, signs
        self.wrong = signs.wrong[check.name]
        self.spots = [(place, spot) for place, spots in enumerate(self.wrong) for spot in sorted(spots)]
        self.bits = {spot: 1 << number for number, spot in enumerate(self.spots)}
        self.evidence = sum(bit for (_, spot), bit in self.bits.items() if spot == EVIDENCE)
        self.places = [sum(self.bits[place, spot] for spot in spots) for place, spots in enumerate(self.wrong)]
        # First where mistakes have been run, then where the submission is right: a mistake that is wrong there is done with.
        self.order = sorted(range(len(self.wrong)), key=lambda i: (-signs.shown(check, i), len(self.wrong[i])))
        self._errs: dict[int, int | None] = {}
        self._whole: dict[tuple[int, int], bool] = {}

    def errs(self, entry: K) -> int | None:
        """Return where a mistake is wrong; None when it is wrong where the submission is right."""
        key = id(entry)
        if key not in self._errs:
            mask: int | None = 0
            for place in self.order:
                wrong = self.wrong[place]
                spots = _seen(self.signs.errs(entry, self.check, place), wrong)
                if not spots <= wrong:
                    mask = None
                    break
                mask = (mask or 0) | sum(self.bits[place, spot] for spot in spots)
            self._errs[key] = mask
        return self._errs[key]

    def fits(self, entry: K, mask: int) -> bool:
        """Tell whether the submission shows what a mistake shows, at all spots of a mask."""
        spots = (spot for number, spot in enumerate(self.spots) if mask >> number & 1)
        return all(self.signs.fits(entry, self.check, *spot) for spot in spots)

    def fits_whole(self, entry: K, place: int) -> bool:
        """Tell the same of a whole scenario, also of what no check compares."""
        key = (id(entry), place)
        if key not in self._whole:
            self._whole[key] = self.signs.fits(entry, self.check, place, WHOLE)
        return self._whole[key]

    def is_seen(self, entry: K) -> bool:
        """Tell whether the submission shows what a mistake shows somewhere where that is wrong."""
        mask = self.errs(entry) or 0
        return any(mask >> n & 1 and self.signs.fits(entry, self.check, *spot) for n, spot in enumerate(self.spots))

    def explained(self, a: K, b: K) -> tuple[int, int] | None:
        """Return in how many scenarios each of the two is seen alone, or None when the two do not explain all."""
        masks = (self.errs(a), self.errs(b))
        if masks[0] is None or masks[1] is None or masks[0] | masks[1] != (1 << len(self.spots)) - 1:
            return None
        alone = [0, 0]
        for which, entry in enumerate((a, b)):
            mine, other = masks[which] or 0, masks[1 - which] or 0
            for place, here in enumerate(self.places):
                only = mine & ~other & here
                # Where the other one is right all along, so must be what no check compares.
                if only and not (self.fits(entry, only) if other & here else self.fits_whole(entry, place)):
                    return None
                alone[which] += bool(only & ~self.evidence)  # that autograd ran says little of who called it
        return alone[0], alone[1]


class _Views(Generic[K]):
    """The checks of an exercise; one is only looked at when it is asked for, since in practice it is run then."""

    def __init__(self, checks: Mapping[str, Check], signs: Signs[K], first: _View[K]) -> None:
        self.checks, self.signs, self.made = checks, signs, {first.check.name: first}

    def of(self, entry: K) -> _View[K] | None:
        """Return the check that a mistake was made for, or None when it was not run."""
        if entry.check in self.checks and entry.check not in self.made:
            self.made[entry.check] = _View(self.checks[entry.check], self.signs)
        return self.made.get(entry.check)


def _seen(spots: frozenset[Spot], wrong: frozenset[Spot]) -> frozenset[Spot]:
    """Return those of a mistake's spots that a submission came to, before what it raised ended the scenario."""
    last = next((step for step, address in wrong if address == ""), None)
    if last is None:
        return spots
    return frozenset((step, address) for step, address in spots if step < last or (step == last and address == ""))


def wrong_spots(check: Check, expected: Expected, trace: Trace) -> frozenset[Spot]:
    """Return the spots of a scenario where a trace differs from what is expected."""
    spots = {(found.step, found.address) for found in differences(expected, trace, check.looks_at)}
    return frozenset(spots | ({EVIDENCE} if check.offences(trace) else set()))


def same_at(spot: Spot, check: Check, expected: Expected, mistaken: Trace, given: Trace) -> bool:
    """Tell whether two traces show the same at a spot, to the check's tolerance."""
    if spot == WHOLE:
        return alike(check, expected, mistaken, given)
    if spot == EVIDENCE:
        return check.offences(mistaken) == check.offences(given)
    step, address = spot
    if step >= len(mistaken.observations) or step >= len(given.observations):
        return False
    want, got = mistaken.observations[step], given.observations[step]
    tolerances = expected.tolerances[step] if step < len(expected.tolerances) else {}
    if address:
        return _same(address, want, got, tolerances.get(address, 0.0))
    reference = expected.trace.observations[step].failure if step < len(expected.trace.observations) else None
    if failure_key(want.failure, reference) != failure_key(got.failure, reference):
        return False
    # Where an error was due and none was raised, what was returned instead.
    instead = [a for a in RETURNED if compared(check, expected, step, a, got)]
    return all(_same(a, want, got, tolerances.get(a, 0.0)) for a in instead)


@QUIET
def _same(address: str, want: Observation, got: Observation, tolerance: float) -> bool:
    if address not in want.seen or address not in got.seen:
        holds = f"{address} holds"
        return address not in want.seen and address not in got.seen and want.seen.get(holds) == got.seen.get(holds)
    return agrees(want.seen[address], got.seen[address], tolerance)
