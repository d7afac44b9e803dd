"""The judge of one lab and one seed: it knows the answers, and turns traces into verdicts.

It runs in the grader's process and never sees a student's object, only traces. The reference runs through the same probe as the
submission; the traces of the mistakes are made when a diagnosis first needs them, and kept, since a class makes the same
mistakes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from types import CodeType

from autograder.checks import render
from autograder.checks.at_once import Wanted, wanted
from autograder.checks.check import Check, Lab, Mistake
from autograder.checks.compare import Difference, Expected, differences
from autograder.checks.compose import choose_composed
from autograder.checks.diagnose import Traces, alike, choose, is_wrong, shortest_first, wrong_places
from autograder.checks.pairs import Signs, Spot, candidates, choose_two, same_at, wrong_spots
from autograder.checks.suspects import Memory, is_far, suspects
from autograder.checks.tolerance import derive
from autograder.errors import CourseError
from autograder.grading.asking import Asking
from autograder.grading.report import CheckResult, Diagnosis
from autograder.probe.run import Runs, run
from autograder.trace.reply import Reply, Words
from autograder.trace.scenario import Dtype, Scenario, in_dtype
from autograder.trace.trace import Trace

PATIENCE = 2  # checks of an exercise that two mistakes at once were looked for in without success


@dataclass
class Inquiry:
    """What is found out about one submission, for all of its failed checks; `passed` names the others."""

    passed: frozenset[str] = frozenset()
    fruitless: Counter[str] = field(default_factory=Counter)  # by exercise, the checks that no two mistakes explained
    suspects: dict[str, list[Mistake]] = field(default_factory=dict)  # by exercise
    fits: dict[tuple[str, str, int], bool] = field(default_factory=dict)


class Judge:
    """Everything that grading one class on one lab with one seed shares."""

    def __init__(self, lab: Lab, seed: int) -> None:
        self.lab = lab
        self.seed = seed
        self.asking = Asking(lab, seed)
        self._truth: dict[str, tuple[list[Trace], list[Trace], list[Trace]]] = {}  # by question
        self._expected: dict[str, tuple[Expected, ...]] = {}
        self._mistaken: dict[tuple[str, str, int], Trace] = {}
        self._shown: Counter[tuple[str, int]] = Counter()
        self._memory = Memory()
        self._judged: dict[str, tuple[Sequence[Trace], list[int]]] = {}  # by check, whom last, and where that is wrong
        self._wrong: dict[tuple[str, str, int], frozenset[Spot]] = {}
        self._wanted = lru_cache(maxsize=1024)(self._wanted_of)
        self._by_id = {mistake.id: mistake for mistake in lab.mistakes}
        self._block: ExitStack | None = None
        self._runs: Runs | None = None

    def scenarios(self, check: Check) -> tuple[Scenario, ...]:
        """Return the scenarios of a check, drawn from the seed."""
        return self.asking.scenarios(check)

    def expected(self, check: Check) -> tuple[Expected, ...]:
        """Return what the reference shows: as the scenario says, in float64, and the tolerances."""
        if check.name not in self._expected:
            asked = self.scenarios(check)
            plain, truth, low = self._shown_by_the_reference(check)
            for trace in plain:
                if trace.failure is not None and trace.failure.type not in check.raises:
                    raise CourseError(
                        f"The reference fails in {check.name}, {trace.scenario}: {trace.failure.type}: "
                        f"{trace.failure.message}. Nobody is graded against that; mend solutions/{self.lab.name}/."
                    )
            self._expected[check.name] = tuple(
                Expected(a, b, derive(b, c, check.tolerance), s.only)
                for s, a, b, c in zip(asked, plain, truth, low, strict=True)
            )
        return self._expected[check.name]

    def _shown_by_the_reference(self, check: Check) -> tuple[list[Trace], list[Trace], list[Trace]]:
        name = self.asking.name(check)
        if name not in self._truth:
            asked = self.scenarios(check)
            plain = run(asked, self.lab.reference, evidence=False)
            truth, low = (self._moved(asked, plain, dtype) for dtype in ("float64", "float32"))
            self._truth[name] = plain, truth, low
        return self._truth[name]

    def _moved(self, asked: Sequence[Scenario], plain: Sequence[Trace], dtype: Dtype) -> list[Trace]:
        """Return what the reference shows in another dtype; where that is the scenario's own, what it has shown."""
        moved = [in_dtype(scenario, dtype) for scenario in asked]
        others = iter(run([m for m, s in zip(moved, asked, strict=True) if m != s], self.lab.reference, evidence=False))
        return [next(others) if m != s else trace for m, s, trace in zip(moved, asked, plain, strict=True)]

    def get_ready(self) -> None:
        """Find out now what the reference shows in every check, while there is nothing else to do."""
        for check in self.lab.checks:
            self.expected(check)

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

    def verdict(self, check: Check, traces: Sequence[Trace] | None, reason: str = "") -> CheckResult:
        """Return the result of a check, without a diagnosis; without traces it fails for the given reason."""
        if traces is None or len(traces) != len(self.scenarios(check)):
            return _failed(check, reason or "the kernel's reply could not be read")
        if isinstance(traces, Reply) and self._is_plainly_met(check, traces):
            return _passed(check)
        offence = _offence(check, traces)
        if offence is not None:
            return _failed(check, *offence)
        wrong: dict[int, Difference] = {}
        for place, (expected, trace) in enumerate(zip(self.expected(check), traces, strict=True)):
            found = next(differences(expected, trace, check.looks_at), None)
            if found is not None:
                wrong[place] = found
        self._judged[check.name] = traces, shortest_first([*wrong], traces)
        if not wrong:
            return _passed(check)
        smallest = min(wrong, key=self.asking.sizes(check).__getitem__)
        scenario, found = self.scenarios(check)[smallest], wrong[smallest]
        if check.secret:
            found = Difference(found.step, found.address, found.kind, _without_answer(found))
        message = f"{scenario.name}: {found.line}"
        if len(wrong) > 1:
            message += f" ({len(wrong)} of {len(traces)} scenarios differ; this is the smallest)"
        return _failed(check, message, code=render.code(scenario, found))

    def _is_plainly_met(self, check: Check, reply: Reply) -> bool:
        asked = self._wanted(check.name, reply.words)
        return asked is not None and all(each.is_met(reply) for each in asked)

    def _wanted_of(self, name: str, words: Words) -> tuple[Wanted, ...] | None:
        check = self.lab.check(name)
        return wanted(check, self.expected(check), words)

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


def _offence(check: Check, traces: Sequence[Trace]) -> tuple[str, tuple[str, ...]] | None:
    forbidden = () if check.builtins else traces
    operators = tuple(dict.fromkeys(name for trace in forbidden for name in trace.operators))
    classes = tuple(dict.fromkeys(name for trace in forbidden for name in trace.inherits))
    if operators or classes:
        what = " and ".join([*(["calls " + ", ".join(operators)] if operators else []), *_derives(classes)])
        return f"{check.exercise} {what}: torch's own normalization may not do the work here", operators + classes
    if not check.autograd and any(trace.autograd for trace in traces):
        return f"{check.exercise} runs torch's autograd: the gradients are to be computed by hand", ("autograd",)
    return None


def _derives(classes: tuple[str, ...]) -> list[str]:
    return ["derives from " + ", ".join(classes)] if classes else []


def _passed(check: Check) -> CheckResult:
    return CheckResult(check.name, check.exercise, check.title, check.points, check.points, True, "passed")


def _failed(check: Check, message: str, evidence: tuple[str, ...] = (), code: str | None = None) -> CheckResult:
    return CheckResult(check.name, check.exercise, check.title, 0.0, check.points, False, message, None, code, evidence)


def _without_answer(found: Difference) -> str:
    if found.kind == "failure":
        return found.line
    given = found.line.partition("; it is ")[2] or "not one number"
    return f"{found.address} is {given}, which is not what happens"
