"""`autograder grade LAB`: grade all of submitted/, record it in the gradebook, and tell what the class got wrong.

Workers grade, this process records: gradebook, autograded/ and feedback/ through nbgrader, one JSON report per student in
reports/<lab>/. Nothing that a submission holds stops the others; a failure of our own is named, and is no grade.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from autograder.commands.limits import limits_of
from autograder.errors import UsageError
from autograder.grading.course import find_course, load_course_lab
from autograder.grading.pool import Done, Work, grade_many, processes
from autograder.grading.reading import notebook_in
from autograder.grading.report import Report
from autograder.grading.submission import UnreadableSubmission, read_file
from autograder.plugins.record import Recorder
from autograder.sandbox import bwrap

BATCH = 16  # submissions between two visits to the gradebook


def run(given: argparse.Namespace) -> int:
    """Grade the class; 0 when every submission has a grade, 3 when the grader failed on one."""
    course = find_course(given.course)
    lab = load_course_lab(course, given.lab)
    recorder = Recorder(course, lab.name)
    works = _works(given, course, recorder)
    if not given.no_sandbox:
        bwrap.programs()  # SandboxUnavailable now rather than once for every submission
    console = Console(stderr=given.json, soft_wrap=False)
    recorder.prepare()
    done: dict[str, Done] = {}
    waiting: dict[str, Any] = {}

    def write() -> None:
        recorder.record(waiting)
        waiting.clear()

    jobs = given.jobs or os.cpu_count() or 1
    with _progress(console) as progress:
        bar = progress.add_task(lab.name, total=len(works))
        for result in _twice(works, jobs):
            done[result.student] = result
            if result.graded is not None and result.report is not None:
                waiting[result.student] = result.graded
                _save(course, result.report)
            if len(waiting) >= BATCH:
                write()
            progress.advance(bar)
        write()
    reports = {student: done[student].report for student in sorted(done)}
    troubles = {student: done[student].trouble for student in sorted(done) if done[student].trouble}
    if given.json:
        print(json.dumps(_summary(lab.name, given.seed, reports, troubles), indent=1))
    else:
        _print(console, course, recorder, given, {s: r for s, r in reports.items() if r is not None}, troubles)
    for student, trouble in troubles.items():
        print(f"not graded: {student}: {trouble}", file=sys.stderr)
    return 3 if troubles else 0


def _twice(works: Sequence[Work], jobs: int) -> Iterator[Done]:
    """Grade all; what a pool that broke has left behind is graded once more, in a fresh one."""
    left = {work.student: work for work in works}
    for last in (False, True):
        with processes(min(jobs, len(left))) as executor:
            for result in grade_many(list(left.values()), executor):
                if result.graded is not None or not result.broken or last:
                    del left[result.student]
                    yield result
        if not left:
            return


def _works(given: argparse.Namespace, course: Path, recorder: Recorder) -> list[Work]:
    folders = recorder.students()
    chosen = given.student or sorted(folders)
    unknown = [student for student in chosen if student not in folders]
    if unknown or not folders:
        who = f"{', '.join(unknown)} handed in nothing" if unknown else "nobody has handed it in"
        raise UsageError(
            f"{given.lab}: {who}; {len(folders)} submissions are in {course / 'submitted'}. "
            f"Collect them with `nbgrader collect {given.lab}` or `nbgrader zip_collect {given.lab}`."
        )
    if given.jobs is not None and given.jobs < 1:
        raise UsageError(f"--jobs must be at least 1; {given.jobs} was given.")
    return [_work(given, course, student, folders[student]) for student in chosen]


def _work(given: argparse.Namespace, course: Path, student: str, folder: Path) -> Work:
    raw, why = None, ""
    try:
        raw = read_file(notebook_in(folder, given.lab))
    except UnreadableSubmission as reason:
        why = str(reason)
    return Work(str(course), given.lab, student, raw, why, given.seed, limits_of(given), not given.no_sandbox)


def _save(course: Path, report: Report) -> None:
    folder = course / "reports" / report.lab
    folder.mkdir(parents=True, exist_ok=True)
    # Who handed in is a folder's name; what a file name cannot hold is written as its number.
    name = re.sub(r"[^\w.@+ -]", lambda found: f"%{ord(found[0]):02X}", report.student)
    (folder / f"{name}.json").write_text(report.text(), encoding="utf-8")


def _summary(lab: str, seed: int, reports: Mapping[str, Report | None], troubles: Mapping[str, str]) -> dict[str, Any]:
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


def _print(
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


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        console=console,
    )
