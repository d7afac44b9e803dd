"""`check("name")` for a notebook: the public scenarios of a check, run here, offline, against numbers that ship with the package.

It is for practice and gives no grade: grading draws other scenarios. It holds no answer but numbers, so nothing can be
read out of it that would replace the work. A prediction is only written down, not judged, so that it stays one.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks import render
from autograder.checks.check import Check
from autograder.checks.compare import Difference
from autograder.checks.diagnose import is_wrong
from autograder.errors import UsageError
from autograder.practice.file import Known, PracticeLab, UnknownCheck, lab_of
from autograder.practice.naming import names_of
from autograder.practice.progress import record
from autograder.practice.properties import properties, smallest
from autograder.practice.view import Diagnosis, Row, View, row_of, section_of, url_of
from autograder.trace.scenario import Build, Call
from autograder.trace.trace import Trace

__all__ = ["NotPassed", "UnknownCheck", "WrongObject", "check"]

CODE_LINES = 12  # of the smallest call, where its tensors can be written that short
HURRY_S = 0.5  # CPU seconds of one step of another check, when a diagnosis needs it
ADVICE = {
    "shape": "Shapes first: print the shape of every intermediate, and compare it with the axes that you mean.",
    "dtype": "The numbers are not looked at before the dtype is right: where does the other dtype come from?",
    "finite": "Something is divided by zero, or a root is taken of a negative number: print what stands there.",
    "value": "Do the smallest call by hand or with plain loops, and compare the intermediates one by one.",
    "missing": "Look at what your code returns or keeps, and at what the text of the exercise asks for.",
    "failure": "Run the smallest call in a cell of your own: its traceback leads to the line.",
}
NOT_WRITTEN = (
    "Write your answer where the cell says so, delete its `raise NotImplementedError`, run the cell, check again."
)
NOT_DEFINED = "Run the cell that defines it (from the top, after a restart), or give the object: check(name, object)."


class NotPassed(AssertionError):
    """A check that did not pass. It is shown before this is raised, so a notebook adds one line and no traceback."""

    def __init__(self, view: View) -> None:
        super().__init__(view.headline)
        self.view = view

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class WrongObject(UsageError):
    """`check` was given something that the check is not about; shown like NotPassed."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def check(name: str, obj: object = None, *, hints: int = 0, namespace: Mapping[str, Any] | None = None) -> None:
    """Run a check on your work, show what it found, and raise NotPassed when something is not yet right.

    Args:
        name: the name of the check, as the notebook writes it.
        obj: the class, function or number to check; if left out, the one of the exercise's name in the notebook.
        hints: how many hints to print in a terminal, 1 or 2; in a notebook a click unfolds them.
        namespace: where names are looked up in place of the notebook.

    Raises:
        NotPassed: the work is not yet right; what is wrong has been shown.
        UnknownCheck: no lab has a check of that name.
        WrongObject: `obj` cannot be what the check is about.
    """
    lab = lab_of(name)
    promise = lab.checks[name]
    names: Mapping[str, Any] = vars(sys.modules["__main__"]) if namespace is None else namespace
    if obj is not None:
        _refuse(lab, promise, obj)
        names = {**names, promise.exercise: obj}
    view = _noted(lab, promise, names) if promise.secret else _judged(lab, promise, names, hints)
    _show(view)
    if view.state == "not yet":
        raise NotPassed(view)


def _judged(lab: PracticeLab, promise: Check, names: Mapping[str, Any], hints: int) -> View:
    from autograder.probe.run import run  # torch is loaded when the first check runs, not before

    name, scenarios, expected = promise.name, lab.scenarios(promise.name), lab.expected(promise.name)
    traces = run(scenarios, names)
    wrong = [place for place, trace in enumerate(traces) if is_wrong(promise, expected[place], trace)]
    progress = record(lab, name, not wrong)
    if not wrong:
        summary = f"{len(scenarios)} scenarios, {_points(promise)} when graded"
        rows = tuple(row_of(found, "") for found in properties(promise, scenarios, expected, traces))
        return View(name, promise.title, "passed", summary, rows, progress=progress)

    def others(other: Check) -> Sequence[Trace]:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return run(lab.scenarios(other.name), names, HURRY_S)

    offence = _offence(promise, traces)
    if offence:
        rows, code, advice = (Row(promise.exercise, "wrong", offence),), "", ""
    else:
        made = properties(promise, scenarios, expected, traces)
        rows = tuple(row_of(found, scenarios[found.place].name) for found in made)
        first = smallest(made, scenarios)
        assert first is not None
        assert first.found is not None
        code, advice = render.code(scenarios[first.place], first.found, CODE_LINES), _advice(first.found)
        if advice in (NOT_WRITTEN, NOT_DEFINED):
            rows, code = (row_of(first, scenarios[first.place].name),), ""
    known = () if advice in (NOT_WRITTEN, NOT_DEFINED) else names_of(lab, promise, traces, others)
    return View(
        name,
        promise.title,
        "not yet",
        f"{len(scenarios) - len(wrong)} of {len(scenarios)} scenarios agree",
        rows,
        code,
        tuple(map(_diagnosis, known)),
        advice,
        progress,
        hints,
    )


def _points(promise: Check) -> str:
    return f"{promise.points:g} point{'' if promise.points == 1 else 's'}"


def _offence(promise: Check, traces: Sequence[Trace]) -> str:
    found = dict.fromkeys(what for trace in traces for what in promise.offences(trace))
    what = ", ".join("torch's autograd" if entry == "autograd" else entry for entry in found)
    return f"{promise.exercise} uses {what}; here you do that work yourself" if what else ""


def _advice(found: Difference) -> str:
    if found.line.startswith("NotImplementedError") or "but NotImplementedError was raised" in found.line:
        return NOT_WRITTEN
    if found.line.startswith("NameError") and "write it, or run the cell" in found.line:
        return NOT_DEFINED
    return ADVICE[found.kind]


def _diagnosis(known: Known) -> Diagnosis:
    hints = (("How to think about it", known.hint), ("What the mistake does", known.symptom))
    return Diagnosis(known.title, url_of(known.page), section_of(known.page), hints)


def _noted(lab: PracticeLab, promise: Check, names: Mapping[str, Any]) -> View:
    given = names.get(promise.exercise)
    if isinstance(given, bool) or not isinstance(given, int | float):
        progress = record(lab, promise.name, False)
        line = f"Set {promise.exercise} to a number; it is {str(repr(given))[:80]}"
        return View(
            promise.name, promise.title, "not yet", "", (Row(promise.exercise, "wrong", line),), progress=progress
        )
    told = f"{promise.exercise} = {given:g}; you will see below whether it was right"
    return View(promise.name, promise.title, "noted", told, progress=record(lab, promise.name, True))


def _refuse(lab: PracticeLab, promise: Check, obj: object) -> None:
    """Refuse an object that cannot be what the check is about, before a scenario makes a strange error of it."""
    steps = [step for scenario in lab.scenarios(promise.name) for step in scenario.steps]
    is_class = any(isinstance(step, Build) for step in steps)
    is_layer = hasattr(obj, "forward") and not isinstance(obj, type)
    if (is_class and is_layer) or (any(isinstance(step, Build | Call) for step in steps) and not callable(obj)):
        kind = "class" if is_class else "function"
        raise WrongObject(
            f"{promise.name} checks the {kind} {promise.exercise}; it was given an object of type {type(obj).__name__}. "
            f"Give the {kind} itself, without brackets: check({promise.name!r}, {promise.exercise})."
        )


def _show(view: View) -> None:
    """Show it where IPython runs, as a page or as text, whichever the place can; else print the text."""
    if "IPython" in sys.modules:
        from IPython import get_ipython
        from IPython.display import display

        if get_ipython() is not None:
            display(view)  # type: ignore[no-untyped-call]
            return
    print(view)
