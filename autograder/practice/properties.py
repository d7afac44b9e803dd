"""Sort what a check found by what it is about: the output, a gradient, a buffer, the errors that are due.

A property is a group of addresses with one subject (`m.running_var`, its kind, its shape, whether it keeps a graph), followed
through all scenarios of a check. It reads differences and knows nothing of how they are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.checks.check import Check
from autograder.checks.compare import Difference, Expected, differences
from autograder.trace.scenario import Scenario, matches
from autograder.trace.trace import Observation, Opaque, Trace

ERRORS = "the errors that are due"
RUNS = "runs to the end"
ABOUT = re.compile(r"(?:kind of |shape of )?(?P<subject>m\.[\w.]+|result(?:\[[^\]]*\])?|argument [^ :]+)")


@dataclass(frozen=True)
class Property:
    """What a check says of one subject: in how many scenarios it was looked at, in how many it was right.

    `found` is the first difference in the smallest scenario that shows one, `place` the number of that scenario.
    """

    subject: str
    agreed: int
    seen: int
    found: Difference | None = None
    place: int = -1

    @property
    def passed(self) -> bool:
        """Tell whether it was looked at and never wrong."""
        return self.found is None and self.seen > 0

    @property
    def reached(self) -> bool:
        """Tell whether the code under test came so far."""
        return self.seen > 0


def properties(
    check: Check, scenarios: Sequence[Scenario], expected: Sequence[Expected], traces: Sequence[Trace]
) -> tuple[Property, ...]:
    """Return the properties of a check in the order in which they come up, what is wrong first."""
    due: dict[str, list[int]] = {}  # subject -> the scenarios in which it was looked at
    wrong: dict[str, dict[int, Difference]] = {}
    for place, (entry, trace) in enumerate(zip(expected, traces, strict=True)):
        found = list(differences(entry, trace, check.looks_at))
        end = next((d.step for d in found if not d.address), len(entry.trace.observations))
        for difference in found:
            subject = _subject_of(difference, entry)
            wrong.setdefault(subject, {}).setdefault(place, difference)
        for step, observation in enumerate(entry.trace.observations):
            for subject in _subjects(check, entry, observation):
                places = due.setdefault(subject, [])
                if step < end and place not in places:
                    places.append(place)
    for subject, found_at in wrong.items():
        due[subject] = sorted({*due.get(subject, []), *found_at})
    made = [_property(subject, places, wrong.get(subject, {}), scenarios) for subject, places in due.items()]
    return tuple(sorted(made, key=lambda entry: (entry.found is None, not entry.reached)))


def smallest(made: Sequence[Property], scenarios: Sequence[Scenario]) -> Property | None:
    """Return the property that the smallest scenario of all shows first; None when nothing is wrong."""
    wrong = [entry for entry in made if entry.found is not None]
    return min(
        wrong, key=lambda entry: (scenarios[entry.place].size, entry.found.step if entry.found else 0), default=None
    )


def _property(subject: str, places: list[int], wrong: dict[int, Difference], scenarios: Sequence[Scenario]) -> Property:
    if not wrong:
        return Property(subject, len(places), len(places))
    place = min(wrong, key=lambda i: scenarios[i].size)
    return Property(subject, len(places) - len(wrong), len(places), wrong[place], place)


def _subjects(check: Check, expected: Expected, observation: Observation) -> Iterator[str]:
    if observation.failure is not None:
        yield ERRORS
    for address, value in observation.seen.items():
        absent = value in ("no tensor", Opaque("missing")) if isinstance(value, str | Opaque) else False
        if check.looks_at(address) and matches(address, expected.only) and not absent:
            yield subject_of(address)


def _subject_of(difference: Difference, expected: Expected) -> str:
    if difference.address:
        return subject_of(difference.address)
    return ERRORS if expected.trace.observations[difference.step].failure is not None else RUNS


def subject_of(address: str) -> str:
    """Return what an address is about: `m.bias` for `kind of m.bias`, `result['batch']` for `result['batch'][2]`."""
    found = ABOUT.match(address)
    return found["subject"] if found else address
