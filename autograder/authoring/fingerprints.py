"""Make the fingerprints of a lab's mistakes: how `check` on a student's machine names a mistake that it does not have.

For each exercise one JSON text: the words of its mistakes (title, symptom, hint, page) and, for each check of the exercise, what
each mistake shows in each practice scenario, as `checks.fingerprint` writes it, and in which of them it is wrong. Equal
fingerprints are stored once. Beside them stands a digest of the mistake's source, so that only what changed is run again; it says
nothing about the source.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks.check import Check, Lab, Mistake
from autograder.checks.compare import Expected
from autograder.checks.diagnose import is_wrong
from autograder.checks.fingerprint import FORMAT, Mark, fingerprint, reduced, shows
from autograder.grading.judge import Judge, namespace
from autograder.probe.run import run
from autograder.trace.codec import dump_scenarios
from autograder.trace.scenario import Scenario, in_dtype
from autograder.trace.trace import Trace

WORDS = ("id", "check", "title", "symptom", "hint", "page")
Marks = tuple[
    list[Mark], list[int]
]  # of one mistake in one check: a mark for each scenario, the places where it is wrong
Shipped = Mapping[
    str, Sequence[Expected]
]  # by the name of the check: what the practice file says that the reference shows


def exercises(lab: Lab) -> tuple[str, ...]:
    """Return the names of the exercises that have mistakes, in the order of the checks."""
    spoilt = {mistake.exercise for mistake in lab.mistakes}
    return tuple(dict.fromkeys(check.exercise for check in lab.checks if check.exercise in spoilt and not check.secret))


def parts(lab: Lab, exercise: str) -> tuple[tuple[Check, ...], tuple[Mistake, ...]]:
    """Return the checks and the mistakes of one exercise."""
    checks = tuple(check for check in lab.checks if check.exercise == exercise and not check.secret)
    return checks, tuple(mistake for mistake in lab.mistakes if mistake.exercise == exercise)


def known_text(judge: Judge, exercise: str, shipped: Shipped, old: str | None = None) -> str:
    """Return the text of one exercise; what `old` says of a mistake is kept where its digest is still right."""
    checks, mistakes = parts(judge.lab, exercise)
    kept = _rows(old) if old is not None else {}
    stands = {check.name: {json.dumps(0): 0} for check in checks}  # each mark and its place in the list of marks
    places: dict[str, list[list[int]]] = {check.name: [] for check in checks}
    wrong: dict[str, list[list[int]]] = {check.name: [] for check in checks}
    entries, asked = [], _asked(judge, checks)
    for mistake in mistakes:
        digest = _digest(asked, mistake)
        shown = kept.get((mistake.id, digest)) or _shown(judge, checks, mistake, shipped)
        for name, (marks, errors) in shown.items():
            texts = [json.dumps(mark, separators=(",", ":")) for mark in marks]
            places[name].append([stands[name].setdefault(text, len(stands[name])) for text in texts])
            wrong[name].append(errors)
        entries.append({**{word: getattr(mistake, word) for word in WORDS}, "digest": digest})
    body = {
        "format": FORMAT,
        "known": entries,
        "checks": {
            name: {"marks": [json.loads(text) for text in stands[name]], "rows": places[name], "wrong": wrong[name]}
            for name in places
        },
    }
    return json.dumps(body, separators=(",", ":"))


def is_current(judge: Judge, exercise: str, text: str) -> bool:
    """Tell whether a text has the words and the digests of an exercise as it is now. Nothing is run."""
    checks, mistakes = parts(judge.lab, exercise)
    body, asked = json.loads(text), _asked(judge, checks)
    entries = [{**{word: getattr(m, word) for word in WORDS}, "digest": _digest(asked, m)} for m in mistakes]
    return bool(body["format"] == FORMAT and body["known"] == entries and [*body["checks"]] == [c.name for c in checks])


def unlike(judge: Judge, exercise: str, shipped: Shipped, text: str, every: int = 1) -> list[str]:
    """Return a sentence for each mistake that no longer shows what its fingerprint says; it runs one mistake in `every`."""
    checks, mistakes = parts(judge.lab, exercise)
    truth = {c.name: [reduced(c, e, e.trace) for e in shipped[c.name]] for c in checks}
    rows = {ident: row for (ident, _), row in _rows(text).items()}
    sentences, chosen = [], {mistake.id for mistake in judge.lab.mistakes[::every]}
    for mistake in mistakes:
        if mistake.id not in chosen:
            continue
        for check in checks:
            for place, expected in enumerate(shipped[check.name]):
                trace = _mistaken(judge, mistake, check, place)
                given = reduced(check, expected, trace)
                marks, wrong = rows[mistake.id][check.name]
                same = shows(marks[place], expected, truth[check.name][place], given)
                if not same or is_wrong(check, expected, trace) != (place in wrong):
                    scenario = judge.scenarios(check)[place].name
                    sentences.append(f"{mistake.id} shows something else in {check.name}, {scenario}.")
    return sentences


def _rows(text: str) -> dict[tuple[str, str], dict[str, Marks]]:
    """Return what a text says of each mistake, by name and digest, then by check."""
    body: dict[str, Any] = json.loads(text)
    if body.get("format") != FORMAT:
        return {}
    return {
        (entry["id"], entry["digest"]): {
            name: ([part["marks"][i] for i in part["rows"][number]], part["wrong"][number])
            for name, part in body["checks"].items()
        }
        for number, entry in enumerate(body["known"])
    }


def _asked(judge: Judge, checks: Sequence[Check]) -> str:
    """Return what is asked in an exercise, as text."""
    return json.dumps([[c.name, c.keys, c.autograd, c.builtins, dump_scenarios(judge.scenarios(c))] for c in checks])


def _digest(asked: str, mistake: Mistake) -> str:
    """Return a digest of what a mistake's fingerprints follow from, other than the reference and this package."""
    return hashlib.sha256(f"{asked}\n{mistake.source}".encode()).hexdigest()[:12]


def _shown(judge: Judge, checks: Sequence[Check], mistake: Mistake, shipped: Shipped) -> dict[str, Marks]:
    found: dict[str, Marks] = {}
    for check in checks:
        marks, wrong = [], []
        for place, (scenario, expected) in enumerate(zip(judge.scenarios(check), shipped[check.name], strict=True)):
            trace = _mistaken(judge, mistake, check, place)
            marks.append(_mark(check, expected, scenario, mistake, trace))
            wrong += [place] if is_wrong(check, expected, trace) else []
        found[check.name] = marks, wrong
    return found


def _mark(check: Check, expected: Expected, scenario: Scenario, mistake: Mistake, shown: Trace) -> Mark:
    mark, finer = fingerprint(check, expected, shown), in_dtype(scenario, "float64")
    if mark == 0 or finer == scenario:
        return mark
    return fingerprint(check, expected, shown, _quietly(finer, mistake))


def _mistaken(judge: Judge, mistake: Mistake, check: Check, place: int) -> Trace:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return judge.mistaken(mistake, check, place)


def _quietly(scenario: Scenario, mistake: Mistake) -> Trace:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return run([scenario], namespace(mistake.source, mistake.id))[0]
