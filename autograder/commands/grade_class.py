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
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.console import Console

from autograder.commands.class_table import print_class, progress_bar, summary
from autograder.commands.ledger import Ledger, read_ledger
from autograder.commands.limits import limits_of
from autograder.errors import AutograderError, UsageError
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
    ledger = read_ledger(course, lab.name)
    if given.asked_seed is None and ledger.open_seed is not None:
        given.seed = ledger.open_seed  # a run that was stopped goes on as it began
    everyone = _works(given, course, recorder)
    kept = _kept(given, course, recorder, ledger, everyone)
    works = [work for work in everyone if work.student not in kept]
    by_student = {work.student: work for work in works}
    if not given.no_sandbox:
        bwrap.programs()  # SandboxUnavailable now rather than once for every submission
    console = Console(stderr=given.json, soft_wrap=False)
    recorder.prepare()
    done: dict[str, Done] = {}
    waiting: dict[str, Any] = {}

    def write() -> None:
        recorder.record(waiting)
        for student in waiting:
            ledger.note(by_student[student])
        waiting.clear()
        ledger.save()

    if not given.student:
        ledger.open_seed = given.seed
        ledger.save()
    jobs = given.jobs or os.cpu_count() or 1
    with progress_bar(console) as progress:
        bar = progress.add_task(lab.name, total=len(works))
        for result in _twice(works, jobs):
            done[result.student] = result
            if result.graded is not None and result.report is not None:
                waiting[result.student] = result.graded
                _save(course, result.report)
            if len(waiting) >= BATCH:
                write()
            progress.advance(bar)
        if not given.student and all(result.report for result in done.values()):
            ledger.open_seed = None
        write()
    reports = dict(sorted({**kept, **{s: d.report for s, d in done.items()}}.items()))
    troubles = {student: done[student].trouble for student in sorted(done) if done[student].trouble}
    if given.json:
        print(json.dumps(summary(lab.name, given.seed, reports, troubles), indent=1))
    else:
        print_class(console, course, recorder, given, {s: r for s, r in reports.items() if r is not None}, troubles)
        if kept:
            console.print(
                f"{len(kept)} of them unchanged since they were graded, and not run again; --again grades them anew."
            )
    for student, trouble in troubles.items():
        print(f"not graded: {student}: {trouble}", file=sys.stderr)
    return 3 if troubles else 0


def _twice(works: Sequence[Work], jobs: int) -> Iterator[Done]:
    """Grade all; what a pool that broke has left behind is graded once more, in a fresh one."""
    left = {work.student: work for work in works}
    for last in (False, True):
        if not left:
            return
        with processes(min(jobs, len(left))) as executor:
            for result in grade_many(list(left.values()), executor):
                if result.graded is not None or not result.broken or last:
                    del left[result.student]
                    yield result


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


def _kept(
    given: argparse.Namespace, course: Path, recorder: Recorder, ledger: Ledger, works: Sequence[Work]
) -> dict[str, Report | None]:
    """Return the reports of those whose grade stands; nobody's where they are named, or all are to be graded again."""
    if given.again or given.student:
        return {}
    recorded = recorder.scores()
    kept: dict[str, Report | None] = {}
    for work in works:
        if work.student in recorded and ledger.is_unchanged(work, given.asked_seed):
            with suppress(OSError, ValueError, TypeError, KeyError, AutograderError):
                text = _report_path(course, work.lab, work.student).read_text(encoding="utf-8")
                kept[work.student] = Report.from_json(json.loads(text))
    return kept


def _save(course: Path, report: Report) -> None:
    path = _report_path(course, report.lab, report.student)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(report.text(), encoding="utf-8")


def _report_path(course: Path, lab: str, student: str) -> Path:
    # Who handed in is a folder's name; what a file name cannot hold is written as its number.
    name = re.sub(r"[^\w.@+ -]", lambda found: f"%{ord(found[0]):02X}", student)
    return course / "reports" / lab / f"{name}.json"
