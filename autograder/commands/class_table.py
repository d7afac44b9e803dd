"""What `autograder grade` shows of a class: the bar while it works, the table, the most common mistakes, or all of it as JSON."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from autograder.grading.report import Report
from autograder.plugins.record import Recorder


def summary(lab: str, seed: int, reports: Mapping[str, Report | None], troubles: Mapping[str, str]) -> dict[str, Any]:
    graded = [report for report in reports.values() if report is not None]
    return {
        "lab": lab,
        "seed": seed,
        "students": [
            {"student": r.student, "points": r.points, "max_points": r.max_points, "wrong": list(_words(r))}
            for r in graded
        ],
        "common_mistakes": [{"title": title, "students": count} for title, count in common(graded)],
        "not_graded": dict(troubles),
    }


def common(reports: Sequence[Report], most: int = 3) -> list[tuple[str, int]]:
    """Return the named mistakes that most students made, each counted once per student."""
    counted: Counter[str] = Counter()
    for report in reports:
        counted.update({check.diagnosis.title for check in report.checks if check.diagnosis is not None})
    return sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:most]


def _words(report: Report) -> tuple[str, ...]:
    """A few words for what went wrong: the named mistakes, else the exercises that lost points."""
    named = dict.fromkeys(check.diagnosis.title for check in report.checks if check.diagnosis is not None)
    rest = dict.fromkeys(check.exercise for check in report.checks if not check.passed and check.diagnosis is None)
    if report.points == 0 and report.notes:
        return (report.notes[0],)
    return (*named, *rest)


def print_class(
    console: Console,
    course: Path,
    recorder: Recorder,
    given: argparse.Namespace,
    reports: Mapping[str, Report],
    troubles: Mapping[str, str],
) -> None:
    table = Table(title=f"{given.lab}, seed {given.seed}", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("student", no_wrap=True)
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("what went wrong", overflow="fold")
    for student, report in reports.items():
        words = _words(report)
        told = "; ".join(words[:2]) + (f" and {len(words) - 2} more" if len(words) > 2 else "")
        table.add_row(Text(student), f"{report.points:g}/{report.max_points:g}", Text(told or "-"))
    for student in troubles:
        table.add_row(Text(student), "-", Text("not graded: the grader failed, see below"))
    console.print(table)
    shared = common(list(reports.values()))
    if shared:
        console.print("\nThe most common mistakes:")
        for title, count in shared:
            console.print(Text(f"  {count} {'student' if count == 1 else 'students'}: {title}"))
    console.print(Text(f"\nreports   {course / 'reports' / given.lab}\nfeedback  {recorder.feedback_root()}"))
    if given.no_sandbox:
        console.print("Graded WITHOUT a sandbox: student code could do anything; every report says so.")


class _Rate(ProgressColumn):
    """Submissions per minute so far."""

    def render(self, task: Task) -> Text:
        """Return the rate as text."""
        return Text(f"{task.completed / task.elapsed * 60:.0f}/min" if task.completed and task.elapsed else "")


def progress_bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        console=console,
    )
