"""Read the practice files: the checks of a lab, their public scenarios, the expected numbers, the fingerprints of mistakes.

A file is a zip, made by `autograder.authoring.practice`: `checks.json`, for each check `NAME.safetensors`, for each exercise with
mistakes `NAME.known.json`. It holds no code, and of a mistake only words and numbers. Only what is asked for is read.
"""

from __future__ import annotations

import importlib.resources
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, cached_property
from importlib.resources.abc import Traversable
from typing import Any

from autograder.checks.check import Check
from autograder.checks.compare import Expected
from autograder.checks.fingerprint import FORMAT, Mark
from autograder.errors import UsageError
from autograder.trace.codec import load_scenarios, load_traces
from autograder.trace.scenario import Scenario

CHECKS, NUMBERS, KNOWN = "checks.json", ".safetensors", ".known.json"
WORDS = ("exercise", "points", "title", "contract", "autograd", "builtins", "secret")


class UnknownCheck(UsageError):
    """A check was asked for that no lab has; a notebook shows its message and no traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass(frozen=True)
class Known:
    """A mistake as it is shipped: words for the student; by check its fingerprint in each scenario, and where it is wrong."""

    id: str
    exercise: str
    check: str
    title: str
    symptom: str
    hint: str
    page: str
    marks: Mapping[str, tuple[Mark, ...]] = field(repr=False)
    wrong: Mapping[str, frozenset[int]] = field(repr=False)


@dataclass(frozen=True, eq=False)
class PracticeLab:
    """The practice file of one lab."""

    name: str
    file: Traversable = field(repr=False)

    @cached_property
    def checks(self) -> Mapping[str, Check]:
        """The checks of the lab by name, in the order of the file."""
        return {name: _check(name, entry) for name, entry in self._entries.items()}

    @property
    def points(self) -> float:
        """The points that a machine gives in this lab."""
        return sum(check.points for check in self.checks.values())

    def exercise(self, name: str) -> tuple[Check, ...]:
        """Return the checks of one exercise."""
        return tuple(check for check in self.checks.values() if check.exercise == name and not check.secret)

    @cache  # noqa: B019 - there is one object for each lab, for as long as the process lives
    def scenarios(self, name: str) -> tuple[Scenario, ...]:
        """Return the public scenarios of a check."""
        return load_scenarios(json.dumps(self._entries[name]["scenarios"]))

    @cache  # noqa: B019
    def expected(self, name: str) -> tuple[Expected, ...]:
        """Return what the reference shows in them; nothing for a prediction."""
        if self.checks[name].secret:
            return ()
        return expected_from(self._entries[name], self.scenarios(name), self.read(name + NUMBERS))

    @cache  # noqa: B019
    def known(self, exercise: str) -> tuple[Known, ...]:
        """Return the mistakes of an exercise, none where the file has none."""
        try:
            body = json.loads(self.read(exercise + KNOWN))
        except KeyError:
            return ()
        return tuple(_known(exercise, body)) if body["format"] == FORMAT else ()

    @cached_property
    def _entries(self) -> Mapping[str, Any]:
        return json.loads(self.read(CHECKS))  # type: ignore[no-any-return]

    def read(self, part: str) -> bytes:
        """Return one part of the file; KeyError when it has none of that name."""
        with self.file.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            return archive.read(part)


@cache
def practice_labs() -> tuple[PracticeLab, ...]:
    """Return the labs that have a practice file in this package."""
    files = importlib.resources.files("autograder").joinpath("practice").iterdir()
    return tuple(
        PracticeLab(file.name.removesuffix(".zip"), file)
        for file in sorted(files, key=lambda file: file.name)
        if file.name.endswith(".zip")
    )


def lab_of(name: str) -> PracticeLab:
    """Return the lab that has a check of that name; UnknownCheck, with the nearest names, when none has."""
    known: list[str] = []
    for lab in practice_labs():
        if isinstance(name, str) and name in lab.checks:
            return lab
        known += lab.checks
    near = get_close_matches(str(name), known, 3, 0.4)
    advice = f"Did you mean {', '.join(map(repr, near))}?" if near else "Copy the name from the notebook's own cell."
    raise UnknownCheck(f"There is no check {str(name)[:60]!r}. {advice}")


def expected_from(entry: Mapping[str, Any], scenarios: Sequence[Scenario], numbers: bytes) -> tuple[Expected, ...]:
    """Return what a practice file says that the reference shows: exact numbers, with the shapes and dtypes of the run."""
    three = zip(load_traces(numbers), entry["tolerances"], scenarios, strict=True)
    return tuple(Expected(trace, trace, tuple(within), scenario.only) for trace, within, scenario in three)


def _check(name: str, entry: Mapping[str, Any]) -> Check:
    words = {word: entry[word] for word in WORDS}
    return Check(name, scenarios=lambda _: (), keys=tuple(entry["keys"]), **words)


def _known(exercise: str, body: Mapping[str, Any]) -> Iterator[Known]:
    for number, entry in enumerate(body["known"]):
        marks = {name: tuple(part["marks"][i] for i in part["rows"][number]) for name, part in body["checks"].items()}
        wrong = {name: frozenset(part["wrong"][number]) for name, part in body["checks"].items()}
        yield Known(
            exercise=exercise, marks=marks, wrong=wrong, **{key: entry[key] for key in entry if key != "digest"}
        )
