"""What grading says: a result for each check, a report for each submission, both plain data with a JSON form.

Nothing in a report depends on the clock, so that grading twice with one seed gives identical reports.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbformat import NotebookNode

SANDBOXED = "bubblewrap"
UNSANDBOXED = "none: student code ran with the grader's own rights"


@dataclass(frozen=True)
class Diagnosis:
    """The named mistake that a submission shows."""

    id: str
    title: str
    page: str
    hint: str


@dataclass(frozen=True)
class CheckResult:
    """The verdict of one check: one message, the smallest failing call as code, and evidence for a person."""

    name: str
    exercise: str
    title: str
    points: float
    max_points: float
    passed: bool
    message: str
    diagnosis: Diagnosis | None = None
    code: str | None = None
    evidence: tuple[str, ...] = ()
    also: tuple[Diagnosis, ...] = ()  # further mistakes that this check shows


@dataclass(frozen=True)
class Report:
    """The verdict of one submission. `notes` tell what was odd about the file or the run, in plain sentences."""

    lab: str
    student: str
    seed: int
    points: float
    max_points: float
    checks: tuple[CheckResult, ...]
    sandbox: str = SANDBOXED
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON data."""
        checks = tuple(  # what `dataclasses.asdict` gives, which copies each word and takes ten times as long
            {
                **vars(check),
                "diagnosis": None if check.diagnosis is None else {**vars(check.diagnosis)},
                "also": tuple({**vars(other)} for other in check.also),
            }
            for check in self.checks
        )
        return {**vars(self), "checks": checks}

    @staticmethod
    def from_json(given: Mapping[str, Any]) -> Report:
        """Return the report that JSON data holds."""
        checks = tuple(
            CheckResult(
                **{
                    **check,
                    "diagnosis": None if check["diagnosis"] is None else Diagnosis(**check["diagnosis"]),
                    "evidence": tuple(check["evidence"]),
                    "also": tuple(Diagnosis(**other) for other in check.get("also", ())),
                }
            )
            for check in given["checks"]
        )
        return Report(**{**given, "checks": checks, "notes": tuple(given["notes"])})

    def text(self) -> str:
        """Return the report as the bytes-stable text that is written to disk."""
        return json.dumps(self.to_json(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    def check(self, name: str) -> CheckResult | None:
        """Return the result of the check of that name, if there is one."""
        return next((check for check in self.checks if check.name == name), None)


@dataclass(frozen=True)
class Graded:
    """The report, and the notebook that ran: grafted, with harmless outputs and a scoring output in each graded cell."""

    report: Report
    notebook: NotebookNode


def total(
    lab: str, student: str, seed: int, checks: tuple[CheckResult, ...], sandbox: str, notes: tuple[str, ...]
) -> Report:
    """Return a report whose points are the sums over the checks."""
    return Report(
        lab,
        student,
        seed,
        sum(check.points for check in checks),
        sum(check.max_points for check in checks),
        checks,
        sandbox,
        notes,
    )
