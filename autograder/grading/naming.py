"""Give the failed checks of a submission the names of the mistakes that they show, so that each mistake is told somewhere.

Two mistakes that were combined often show in the same checks. The first of them would then be told everywhere and the second
nowhere; here the second is told where the first is told elsewhere. It runs nothing: `judge` finds the names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autograder.checks.diagnose import Traces
from autograder.grading.judge import Inquiry, Judge
from autograder.grading.report import CheckResult, Diagnosis


def named(results: Sequence[CheckResult], judge: Judge, traces: Traces) -> list[CheckResult]:
    """Return the results, those that failed with the mistakes that they show: one as the diagnosis, the rest beside it."""
    failed = [r.name for r in results if not r.passed]
    inquiry = Inquiry(frozenset(r.name for r in results if r.passed))
    with judge.in_one_go():
        found = {name: judge.diagnoses(judge.lab.check(name), traces, inquiry) for name in failed}
    told: dict[str, list[str]] = {}  # by exercise, the ids in front
    for result in results:
        if found.get(result.name):
            told.setdefault(result.exercise, []).append(found[result.name][0].id)
    made = []
    for result in results:
        names = found.get(result.name, ())
        front = told.get(result.exercise, [])
        later = next((name for name in names[1:] if name.id not in front), None)
        if later is not None and front.count(names[0].id) > 1:
            front.remove(names[0].id)
            front.append(later.id)
            names = (later, *(name for name in names if name is not later))
        made.append(_with(result, names))
    return made


def _with(result: CheckResult, names: tuple[Diagnosis, ...]) -> CheckResult:
    return replace(result, diagnosis=names[0], also=names[1:]) if names else result
