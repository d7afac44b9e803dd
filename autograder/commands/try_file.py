"""`autograder try LAB FILE.py`: grade a plain file on the names of the contract, as if it stood in the lab's cells.

Words that are off are refused before anything is loaded. Then the template is begun, and what needs torch is imported here
while the template does the same in its box.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from autograder.commands.limits import limits_of
from autograder.errors import UsageError
from autograder.grading.importing import importing
from autograder.grading.place import find_course, known_lab
from autograder.grading.report import CheckResult, Report
from autograder.kernel import launch

MAX_BYTES = 2 << 20


def run(given: argparse.Namespace) -> int:
    """Print the report; the exit code is 0 whatever the points."""
    text, limits, sandboxed = _read(given.file), limits_of(given), not given.no_sandbox
    course = find_course(given.course)
    name = known_lab(course, given.lab)
    if sandboxed:
        launch.begin()
    with importing():
        from autograder.grading.course import load_lab
        from autograder.grading.grade import grade_source

        lab = load_lab(course, name)
    report = grade_source(text, lab, seed=given.seed, limits=limits, sandboxed=sandboxed, student=given.file.stem)
    print(json.dumps(as_json(report), indent=1) if given.json else as_text(report))
    return 0


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"{path} holds more than {MAX_BYTES} bytes; give the file with the lab's definitions.")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); give the path of a Python file.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text ({error}); save it as UTF-8.") from error


def as_json(report: Report) -> dict[str, Any]:
    """Return the report in the command's JSON form."""
    return {
        "lab": report.lab,
        "seed": report.seed,
        "points": report.points,
        "max_points": report.max_points,
        "checks": [
            {
                "name": check.name,
                "exercise": check.exercise,
                "points": check.points,
                "max_points": check.max_points,
                "passed": check.passed,
                "message": _message(check),
                "diagnosis": None
                if check.diagnosis is None
                else {"id": check.diagnosis.id, "title": check.diagnosis.title, "page": check.diagnosis.page},
            }
            for check in report.checks
        ],
    }


def _message(check: CheckResult) -> str:
    return check.message if check.code is None else f"{check.message}\n\nThe smallest call that shows it:\n{check.code}"


def as_text(report: Report) -> str:
    """Return the report for a terminal: a line for each check, the reasons of those that did not pass."""
    from autograder.grading.outputs import reasons_text

    lines = [f"{report.lab}: {report.points:g} of {report.max_points:g} points (seed {report.seed})"]
    if report.sandbox != "bubblewrap":
        lines.append(f"sandbox: {report.sandbox}")
    lines += [f"note: {note}" for note in report.notes]
    for check in report.checks:
        mark = "ok  " if check.passed else "FAIL"
        lines.append(f"{mark} {check.name:<18} {check.points:g}/{check.max_points:g}  {check.title}")
    alike: dict[tuple[str, str], list[CheckResult]] = {}
    for check in report.checks:
        if not check.passed:
            # What costs several checks in the same way is told once.
            named = check.diagnosis.id if check.diagnosis is not None else ""
            alike.setdefault((named, "" if named else check.message), []).append(check)
    for checks in alike.values():
        lines += ["", ", ".join(check.name for check in checks), reasons_text(checks[0])]
    return "\n".join(lines)
