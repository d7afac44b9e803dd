"""Name the mistakes that a submission shows in practice: by the rules of `checks`, with fingerprints in place of mistakes.

Only one check was asked for, and a mistake has to fit the check made for it too. So the other checks of the exercise are run, but
only when a mistake already fits, and silently. Where a step took too long nothing more is run, and no name is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from autograder.checks.check import Check
from autograder.checks.diagnose import choose, is_wrong
from autograder.checks.fingerprint import Step, reduced, shows
from autograder.checks.pairs import Signs, Spot, choose_two
from autograder.practice.file import Known, PracticeLab
from autograder.trace.trace import Trace


class TookTooLong(Exception):
    """The student's code is too slow to be looked at further."""


# Fingerprints tell scenarios apart, not addresses: for a pair of mistakes the whole scenario is the one spot.
RIGHT: frozenset[Spot] = frozenset()
WRONG: frozenset[Spot] = frozenset({(0, "anything")})


class _Wrong(dict[str, Sequence[frozenset[Spot]]]):
    """For each check, in which scenarios the submission is wrong; found when it is asked for."""

    def __init__(self, find: Callable[[str], Sequence[frozenset[Spot]]]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, name: str) -> Sequence[frozenset[Spot]]:
        self[name] = self._find(name)
        return self[name]


def names_of(
    lab: PracticeLab, check: Check, traces: Sequence[Trace], run: Callable[[Check], Sequence[Trace]]
) -> tuple[Known, ...]:
    """Return the known mistakes that the traces of a failing check show: one, two that were combined, or none.

    `run` runs another check of the exercise.
    """
    known = {entry.id: entry for entry in lab.known(check.exercise)}
    checks = {other.name: other for other in lab.exercise(check.exercise)}

    @cache
    def given(name: str) -> Sequence[Trace]:
        found = traces if name == check.name else run(checks[name])
        if any(trace.took_too_long for trace in found):
            raise TookTooLong
        return found

    @cache
    def steps(name: str, place: int) -> tuple[Step, ...]:
        return reduced(checks[name], lab.expected(name)[place], given(name)[place])

    @cache
    def truth(name: str, place: int) -> tuple[Step, ...]:
        expected = lab.expected(name)[place]
        return reduced(checks[name], expected, expected.trace)

    @cache
    def shown(ident: str, name: str, place: int) -> bool:
        mark = known[ident].marks[name][place]
        return shows(mark, lab.expected(name)[place], truth(name, place), steps(name, place))

    def fits(entry: Known, other: Check, place: int) -> bool:
        return shown(entry.id, other.name, place)

    def spots(name: str) -> tuple[frozenset[Spot], ...]:
        pairs = zip(lab.expected(name), given(name), strict=True)
        return tuple(WRONG if is_wrong(checks[name], expected, trace) else RIGHT for expected, trace in pairs)

    if not known:
        return ()
    try:
        every = _Wrong(spots)
        wrong = [place for place, found in enumerate(every[check.name]) if found]
        wrong.sort(key=lambda place: len(traces[place].observations))
        counts = {name: len(lab.scenarios(name)) for name in checks}
        exercise, entries = tuple(checks.values()), tuple(known.values())
        one = choose(check, exercise, counts, wrong, entries, fits, lambda entry, i: i in entry.wrong[check.name])
        if one is not None:
            return (one,)
        return choose_two(
            check,
            exercise,
            entries,
            Signs(
                every,
                lambda entry, other, place: WRONG if place in entry.wrong[other.name] else RIGHT,
                lambda entry, other, place, _: fits(entry, other, place),
            ),
        )
    except TookTooLong:
        return ()
