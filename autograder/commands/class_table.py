"""What `autograder grade` shows of a class: the bar while it works, the table, the most common mistakes, or all of it as JSON."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from autograder.grading.report import CheckResult, Report

if TYPE_CHECKING:
    from autograder.plugins.record import Recorder


NAMED = 5  # of many students whom one trouble kept from a grade


@dataclass(frozen=True)
class Row:
    """What the table keeps of a report: of ten thousand students, the reports themselves would fill the memory."""

    student: str
    points: float
    max_points: float
    wrong: tuple[str, ...]
    named: frozenset[str]

    @staticmethod
    def of(report: Report) -> Row:
        """Return the row of a report."""
        named = frozenset(title for check in report.checks for title in _named(check))
        return Row(report.student, report.points, report.max_points, _words(report), named)


def summary(lab: str, seed: int, rows: Sequence[Row], troubles: Mapping[str, str]) -> dict[str, Any]:
    return {
        "lab": lab,
        "seed": seed,
        "students": [
            {"student": row.student, "points": row.points, "max_points": row.max_points, "wrong": list(row.wrong)}
            for row in rows
        ],
        "common_mistakes": [{"title": title, "students": count} for title, count in common(rows)],
        "not_graded": dict(troubles),
    }


def common(rows: Sequence[Row], most: int = 3) -> list[tuple[str, int]]:
    """Return the named mistakes that most students made, each counted once per student."""
    counted: Counter[str] = Counter()
    for row in rows:
        counted.update(row.named)
    return sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:most]


def _words(report: Report) -> tuple[str, ...]:
    """A few words for what went wrong: the named mistakes, else the exercises that lost points."""
    named = dict.fromkeys(title for check in report.checks for title in _named(check))
    rest = dict.fromkeys(check.exercise for check in report.checks if not check.passed and check.diagnosis is None)
    if report.points == 0 and report.notes:
        return (report.notes[0],)
    return (*named, *rest)


def _named(check: CheckResult) -> tuple[str, ...]:
    return tuple(mistake.title for mistake in (check.diagnosis, *check.also) if mistake is not None)


def print_class(
    console: Console,
    course: Path,
    recorder: Recorder,
    given: argparse.Namespace,
    rows: Sequence[Row],
    troubles: Mapping[str, str],
) -> None:
    table = Table(title=f"{given.lab}, seed {given.seed}", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("student", no_wrap=True)
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("what went wrong", overflow="fold")
    for row in rows:
        told = "; ".join(row.wrong[:2]) + (f" and {len(row.wrong) - 2} more" if len(row.wrong) > 2 else "")
        table.add_row(Text(row.student), f"{row.points:g}/{row.max_points:g}", Text(told or "-"))
    for student in troubles:
        table.add_row(Text(student), "-", Text("not graded: the grader failed, see below"))
    console.print(table)
    shared = common(rows)
    if shared:
        console.print("\nThe most common mistakes:")
        for title, count in shared:
            console.print(Text(f"  {count} {'student' if count == 1 else 'students'}: {title}"))
    console.print(Text(f"\nreports   {course / 'reports' / given.lab}\nfeedback  {recorder.feedback_root()}"))
    if given.no_sandbox:
        console.print("Graded WITHOUT a sandbox: student code could do anything; every report says so.")


def not_graded(troubles: Mapping[str, str]) -> list[str]:
    """Return a line for each trouble, with whom it kept from a grade: a broken lab is one trouble, not one for each submission."""
    held: dict[str, list[str]] = {}
    for student, trouble in troubles.items():
        held.setdefault(trouble, []).append(student)
    return [f"not graded: {_who(students)}: {trouble}" for trouble, students in held.items()]


def _who(students: Sequence[str]) -> str:
    if len(students) == 1:
        return students[0]
    more = f" and {len(students) - NAMED} more" if len(students) > NAMED else ""
    return f"{len(students)} submissions ({', '.join(students[:NAMED])}{more})"


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
        refresh_per_second=2,  # drawn ten times a second, it takes a hundredth of a processor
    )
