"""The judge of one lab and one seed: its verdicts, and the named mistakes that a submission shows where it fails.

The traces of the mistakes are made when a diagnosis first needs them, by the probe that the submission runs through, and kept,
since a class makes the same mistakes. Nothing here sees a student's object, only traces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from types import CodeType

from autograder.checks.check import Check, Lab, Mistake
from autograder.checks.compose import choose_composed
from autograder.checks.diagnose import Traces, alike, choose, is_wrong, wrong_places
from autograder.checks.pairs import Signs, Spot, candidates, choose_two, same_at, wrong_spots
from autograder.checks.suspects import Memory, is_far, suspects
from autograder.errors import CourseError
from autograder.grading.report import Diagnosis
from autograder.grading.verdicts import Verdicts
from autograder.probe.run import Runs, run
from autograder.trace.trace import Trace

PATIENCE = 2  # checks of an exercise that two mistakes at once were looked for in without success


@dataclass
class Inquiry:
    """What is found out about one submission, for all of its failed checks; `passed` names the others."""

    passed: frozenset[str] = frozenset()
    fruitless: Counter[str] = field(default_factory=Counter)  # by exercise, the checks that no two mistakes explained
    suspects: dict[str, list[Mistake]] = field(default_factory=dict)  # by exercise
    fits: dict[tuple[str, str, int], bool] = field(default_factory=dict)


class Judge(Verdicts):
    """Everything that grading one class on one lab with one seed shares."""

    def __init__(self, lab: Lab, seed: int) -> None:
        super().__init__(lab, seed)
        self._mistaken: dict[tuple[str, str, int], Trace] = {}
        self._shown: Counter[tuple[str, int]] = Counter()
        self._memory = Memory()
        self._wrong: dict[tuple[str, str, int], frozenset[Spot]] = {}
        self._by_id = {mistake.id: mistake for mistake in lab.mistakes}
        self._block: ExitStack | None = None
        self._runs: Runs | None = None

    def mistaken(self, mistake: Mistake, check: Check, place: int) -> Trace:
        """Return what a named mistake shows in one scenario of a check."""
        name = self.asking.name(check)
        key = (mistake.id, name, place)
        if key not in self._mistaken:
            self._mistaken[key] = self._ran(namespace(mistake.source, mistake.id), check, place)
            self._shown[name, place] += 1
        return self._mistaken[key]

    def _ran(self, names: Mapping[str, object], check: Check, place: int) -> Trace:
        """Return what names of ours show in one scenario of a check, as far as a submission is looked at there."""
        asked, looks = [self.scenarios(check)[place]], [self.asking.looks(check)[place]]
        if self._block is None:
            return run(asked, names, looks=looks)[0]
        if self._runs is None:
            self._runs = self._block.enter_context(Runs())
        return self._runs.run(asked, names, looks)[0]

    @contextmanager
    def in_one_go(self) -> Iterator[None]:
        """Have all that is run in this block run in one block of the probe's: to begin one takes a sixth of what a mistake does."""
        with ExitStack() as self._block:
            try:
                yield
            finally:
                self._block = self._runs = None

    def shown(self, check: Check, place: int) -> int:
        """Return how many mistakes have been run in one scenario of a check."""
        return self._shown[self.asking.name(check), place]

    def diagnosis(self, check: Check, given: Traces) -> Diagnosis | None:
        """Return the named mistake that the traces of a failing check show, or None: the first of `diagnoses`."""
        return next(iter(self.diagnoses(check, given)), None)

    def diagnoses(self, check: Check, given: Traces, inquiry: Inquiry | None = None) -> tuple[Diagnosis, ...]:
        """Return the named mistakes that the traces of a failing check show: one, two that were combined, or none.

        The caller keeps one `inquiry` for all checks of a submission. After some checks of an exercise that no two mistakes
        explained, there is likely more wrong than two things, and none is run any more.
        """
        if check.name not in given:
            return ()
        inquiry = Inquiry() if inquiry is None else inquiry
        exercise = [other for other in self.lab.checks if other.exercise == check.exercise and other.name in given]
        found = self._one(check, exercise, given, inquiry)
        named: tuple[Mistake, ...] = (found,) if found is not None else ()
        if not named and inquiry.fruitless[check.exercise] < PATIENCE:
            named = self._two(check, exercise, given)
            inquiry.fruitless[check.exercise] += not named
        return tuple(Diagnosis(mistake.id, mistake.title, mistake.page, mistake.hint) for mistake in named)

    def _one(self, check: Check, exercise: Sequence[Check], given: Traces, inquiry: Inquiry) -> Mistake | None:
        def fits(mistake: Mistake, other: Check, place: int) -> bool:
            key = (mistake.id, other.name, place)
            if key not in inquiry.fits:
                mistaken = self.mistaken(mistake, other, place)
                inquiry.fits[key] = alike(other, self.expected(other)[place], mistaken, given[other.name][place])
            return inquiry.fits[key]

        def errs(mistake: Mistake, place: int) -> bool:
            return is_wrong(check, self.expected(check)[place], self.mistaken(mistake, check, place))

        counts = {other.name: len(given[other.name]) for other in exercise}
        if check.exercise not in inquiry.suspects:
            known = [mistake for mistake in self.lab.mistakes if mistake.exercise == check.exercise]
            checks = {other.name: other for other in exercise}
            inquiry.suspects[check.exercise] = suspects(
                known, checks, counts, inquiry.passed, fits, self._is_far, self._memory
            )
        mistakes = inquiry.suspects[check.exercise]
        judged, wrong = self._judged.get(check.name, (None, []))
        if judged is not given[check.name]:
            wrong = wrong_places(check, self.expected(check), given[check.name])
        return choose(check, exercise, counts, wrong, mistakes, fits, errs, lambda place: self.shown(check, place))

    def _is_far(self, mistake: Mistake, check: Check, place: int) -> bool:
        return is_far(check, self.expected(check)[place], self.mistaken(mistake, check, place))

    def _two(self, check: Check, exercise: Sequence[Check], given: Traces) -> tuple[Mistake, ...]:
        signs = self._signs({other.name: given[other.name] for other in exercise})
        named = choose_two(check, exercise, self.lab.mistakes, signs)
        if named:
            return named
        wrong = wrong_places(check, self.expected(check), given[check.name])
        order = [*wrong, *(i for i in range(len(given[check.name])) if i not in wrong)]

        def shows(both: Mistake, made_for: Sequence[str]) -> bool:
            others = [c for c in exercise if c.name in made_for and c is not check]
            places = [(check, i) for i in order] + [(c, i) for c in others for i in range(len(given[c.name]))]
            try:
                names = namespace(both.source, both.id)
            except CourseError:  # one edit took away what the other one needs
                return False
            return all(alike(c, self.expected(c)[i], self._ran(names, c, i), given[c.name][i]) for c, i in places)

        pairs = candidates(check, exercise, self.lab.mistakes, signs)
        return choose_composed(pairs, self.lab.plain.get(check.exercise), shows)

    def _signs(self, given: Traces) -> Signs[Mistake]:
        @cache
        def fits(ident: str, name: str, place: int, spot: Spot) -> bool:
            check = self.lab.check(name)
            mistaken = self.mistaken(self._by_id[ident], check, place)
            return same_at(spot, check, self.expected(check)[place], mistaken, given[name][place])

        def wrong(name: str) -> tuple[frozenset[Spot], ...]:
            check = self.lab.check(name)
            return tuple(wrong_spots(check, e, t) for e, t in zip(self.expected(check), given[name], strict=True))

        return Signs(
            {name: wrong(name) for name in given},
            self._errs,
            lambda mistake, check, place, spot: fits(mistake.id, check.name, place, spot),
            self.shown,
        )

    def _errs(self, mistake: Mistake, check: Check, place: int) -> frozenset[Spot]:
        key = (mistake.id, check.name, place)
        if key not in self._wrong:
            self._wrong[key] = wrong_spots(check, self.expected(check)[place], self.mistaken(mistake, check, place))
        return self._wrong[key]


def namespace(source: str, name: str) -> dict[str, object]:
    """Run our own source (a mistake, a variant) and return the names that it defines; CourseError when it does not run."""
    names: dict[str, object] = {"__name__": f"source_{name.replace('-', '_')}"}
    try:
        exec(_compiled(source, name), names)
    except Exception as error:
        raise CourseError(f"The source of {name!r} does not run: {error!r}; mend it in the lab's folder.") from error
    return names


@lru_cache(maxsize=2048)
def _compiled(source: str, name: str) -> CodeType:
    return compile(source, f"<{name}>", "exec", dont_inherit=True)
