"""`check("name")` for a notebook: the public scenarios of a check, run here, offline, against numbers that ship with the package.

It is for practice and gives no grade: grading draws other scenarios. It holds no answer but numbers, so nothing can be
read out of it that would replace the work. A prediction is only written down, not judged, so that it stays one.
"""

from __future__ import annotations

import importlib.resources
import json
import sys
import zipfile
from collections.abc import Mapping
from functools import cache
from typing import Any

from autograder.checks import render
from autograder.checks.check import Check
from autograder.checks.compare import Difference, Expected, differences
from autograder.errors import UsageError
from autograder.trace.codec import load_scenarios, load_traces
from autograder.trace.scenario import Scenario
from autograder.trace.trace import Trace


class NotPassed(AssertionError):
    """A check that did not pass; in a notebook it shows its message and no traceback."""

    def _render_traceback_(self) -> list[str]:
        return str(self).split("\n")


class UnknownCheck(UsageError):
    """A check was asked for that no lab has; shown like NotPassed."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def check(name: str, namespace: Mapping[str, Any] | None = None) -> None:
    """Run a check on the names of the notebook (or of `namespace`); print a line when it passes, raise NotPassed when not."""
    from autograder.probe.run import run  # torch is loaded when the first check runs, not before

    promise, scenarios, expected = _practice(name)
    names = vars(sys.modules["__main__"]) if namespace is None else namespace
    if promise.secret:
        print(_noted(promise, names))
        return
    traces = run(scenarios, names)
    offence = next((t for t in traces if t.operators or t.inherits or (t.autograd and not promise.autograd)), None)
    if offence is not None:
        what = ", ".join([*offence.operators, *offence.inherits]) or "torch's autograd"
        raise NotPassed(f"{name}: not yet. {promise.exercise} uses {what}; here you do that work yourself.")
    wrong = [(s, d) for s, e, t in zip(scenarios, expected, traces, strict=True) if (d := _first(promise, e, t))]
    if wrong:
        scenario, found = min(wrong, key=lambda pair: pair[0].size)
        raise NotPassed(
            f"{name}: not yet ({len(scenarios) - len(wrong)} of {len(scenarios)} scenarios agree).\n"
            f"{scenario.name}: {found.line}\n"
            f"The smallest call that shows it:\n{render.code(scenario, found)}"
        )
    print(f"{name}: passed ({promise.title}; {len(scenarios)} scenarios, {promise.points:g} points when graded)")


def _first(promise: Check, expected: Expected, trace: Trace) -> Difference | None:
    return next(differences(expected, trace, promise.looks_at), None)


def _noted(promise: Check, names: Mapping[str, Any]) -> str:
    given = names.get(promise.exercise)
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise NotPassed(f"{promise.name}: not yet. Set {promise.exercise} to a number; it is {given!r}.")
    return f"{promise.name}: noted, {promise.exercise} = {given:g}. You will see below whether it was right."


@cache
def _practice(name: str) -> tuple[Check, tuple[Scenario, ...], tuple[Expected, ...]]:
    known: list[str] = []
    for file in sorted(importlib.resources.files("autograder").joinpath("practice").iterdir(), key=lambda f: f.name):
        if not file.name.endswith(".zip"):
            continue
        with file.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            entries = json.loads(archive.read("checks.json"))
            if name in entries:
                return _entry(name, entries[name], archive)
            known += entries
    raise UnknownCheck(f"There is no check {name!r}. There are: {', '.join(known)}.")


def _entry(
    name: str, entry: Mapping[str, Any], archive: zipfile.ZipFile
) -> tuple[Check, tuple[Scenario, ...], tuple[Expected, ...]]:
    scenarios = load_scenarios(json.dumps(entry["scenarios"]))
    words = {key: entry[key] for key in ("exercise", "points", "title", "contract", "autograd", "secret")}
    promise = Check(name, scenarios=lambda _: scenarios, keys=tuple(entry["keys"]), **words)
    if promise.secret:
        return promise, scenarios, ()
    traces = load_traces(archive.read(f"{name}.safetensors"))
    three = zip(traces, entry["tolerances"], scenarios, strict=True)
    return promise, scenarios, tuple(Expected(t, t, tuple(w), s.only) for t, w, s in three)
