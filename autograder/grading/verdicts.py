"""Verdicts of one lab and one seed: what the reference shows, and whether what a submission shows is the same.

It runs in the grader's process and never sees a student's object, only traces. The reference runs through the same probe as the
submission. What it is not: a name for what is wrong; that is the `judge`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from autograder.checks import render
from autograder.checks.at_once import Wanted, wanted
from autograder.checks.check import Check, Lab
from autograder.checks.compare import Difference, Expected, differences
from autograder.checks.diagnose import shortest_first
from autograder.checks.tolerance import derive
from autograder.errors import CourseError
from autograder.grading.asking import Asking
from autograder.grading.report import CheckResult
from autograder.probe.run import run
from autograder.trace.reply import Reply, Words
from autograder.trace.scenario import Dtype, Scenario, in_dtype
from autograder.trace.trace import Trace


class Verdicts:
    """What is asked, what is expected, and who meets it."""

    def __init__(self, lab: Lab, seed: int) -> None:
        self.lab = lab
        self.seed = seed
        self.asking = Asking(lab, seed)
        self._truth: dict[str, tuple[list[Trace], list[Trace], list[Trace]]] = {}  # by question
        self._expected: dict[str, tuple[Expected, ...]] = {}
        self._judged: dict[str, tuple[Sequence[Trace], list[int]]] = {}  # by check, whom last, and where that is wrong
        self._wanted = lru_cache(maxsize=1024)(self._wanted_of)

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
