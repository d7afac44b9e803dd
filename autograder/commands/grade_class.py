"""`autograder grade LAB`: grade all of submitted/, record it in the gradebook, and tell what the class got wrong.

Workers grade, this process records: gradebook, autograded/ and feedback/ through nbgrader, one JSON report per student in
reports/<lab>/. Nothing that a submission holds stops the others; a failure of our own is named, and is no grade.

This process imports no torch. The gradebook is made, and knows the lab as it is now, before any worker gets work: nbgrader makes
the release anew for that, and a worker must not read it meanwhile; what workers import, they import meanwhile (`ahead`). No worker
ever opens the gradebook.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from autograder.commands.ahead import Opens, ahead
from autograder.commands.class_table import Row, not_graded, print_class, progress_bar, summary
from autograder.commands.executors import crew_of, opened
from autograder.commands.interruption import heard
from autograder.commands.ledger import Entry, Ledger, graded_before, read_ledger
from autograder.commands.limits import limits_of
from autograder.commands.submitted import submitted
from autograder.errors import AutograderError, UsageError
from autograder.grading.importing import importing, settle
from autograder.grading.place import find_course, known_lab
from autograder.grading.pool import Crew, Work, grade_all
from autograder.grading.reading import notebook_in
from autograder.grading.report import Graded, Report
from autograder.grading.submission import UnreadableSubmission, read_file
from autograder.sandbox import bwrap

if TYPE_CHECKING:
    from autograder.plugins.record import Recorder

BATCH = 32  # submissions between two visits to the gradebook, at most


def is_batch(waiting: int, left: int) -> bool:
    """Tell whether so many results are recorded now, with so many submissions still to come.

    Towards the end batches are smaller: only the last one is recorded while nothing is graded any more.
    """
    return waiting >= max(1, min(BATCH, left))


def run(given: argparse.Namespace) -> int:
    """Grade the class; 0 when every submission has a grade, 3 when the grader failed on one."""
    with heard():
        return _begin(given)


def _begin(given: argparse.Namespace) -> int:
    course = find_course(given.course)
    lab = known_lab(course, given.lab)
    folders = _chosen(given, course)
    limits_of(given)  # words that are off are refused before anything is written
    crew = crew_of(given, len(folders))
    if not given.no_sandbox and given.scheduler is None:
        bwrap.programs()  # SandboxUnavailable now rather than once for every submission
    open_crew: Opens = partial(opened, given, course)
    new = given.again or given.student or not graded_before(course, lab).issuperset(folders)
    if new and given.executor == "processes":  # a cluster asks for the lab's version at once
        with ahead(open_crew, crew) as open_ahead:
            return _run(given, course, folders, open_ahead, crew)
    return _run(given, course, folders, open_crew, None)


def _run(
    given: argparse.Namespace, course: Path, folders: Mapping[str, Path], open_crew: Opens, begun: Crew | None
) -> int:
    lab = given.lab
    with importing():
        from autograder.plugins.record import Recorder
    recorder = Recorder(course, lab)
    recorder.prepare()  # before the lab's version is taken: the release is made anew
    ledger = read_ledger(course, lab)
    if given.asked_seed is None and ledger.open_seed is not None:
        given.seed = ledger.open_seed  # a run that was stopped goes on as it began
    read: dict[str, Entry] = {}

    def work_of(student: str) -> Work:
        work = _work(given, ledger.version, student, folders[student])
        read[student] = ledger.entry_of(work)  # of these bytes: the file may change before its grade is recorded
        return work

    kept = _kept(given, course, recorder, ledger, map(work_of, folders))
    left = [student for student in folders if student not in kept]
    crew = begun or crew_of(given, len(left))
    console = Console(stderr=given.json, soft_wrap=False)
    rows: dict[str, Row] = dict(kept)
    troubles: dict[str, str] = {}
    waiting: dict[str, Graded] = {}

    def write() -> None:
        if waiting:
            recorder.record(waiting)
        for student in waiting:
            ledger.note(student, read.pop(student))
        waiting.clear()
        ledger.save()

    if not given.student:
        ledger.open_seed = given.seed
        ledger.save()
    with progress_bar(console) as progress:
        bar, graded = progress.add_task(lab, total=len(left)), 0
        try:
            for result in grade_all(left, work_of, open_crew, crew):
                if result.graded is not None and result.report is not None:
                    _save(course, result.report, result.text)
                    rows[result.student] = Row.of(result.report)
                    waiting[result.student] = result.graded
                else:
                    troubles[result.student] = result.trouble
                graded += 1
                if is_batch(len(waiting), len(left) - graded):
                    write()
                    settle()
                progress.advance(bar)
        except BaseException:  # a cluster without workers, Ctrl-C: what is graded by now is not lost
            with suppress(Exception):
                write()
            raise
        if not given.student and not troubles:
            ledger.open_seed = None
        write()
    table, troubles = [rows[student] for student in sorted(rows)], dict(sorted(troubles.items()))
    if given.json:
        print(json.dumps(summary(lab, given.seed, table, troubles), indent=1))
    else:
        print_class(console, course, recorder, given, table, troubles)
        if kept:
            console.print(
                f"{len(kept)} of them unchanged since they were graded, and not run again; --again grades them anew."
            )
    for line in not_graded(troubles):
        print(line, file=sys.stderr)
    return 3 if troubles else 0


def _chosen(given: argparse.Namespace, course: Path) -> dict[str, Path]:
    """Return the folders of the students that are asked for, or of all."""
    folders = submitted(course, given.lab)
    unknown = [student for student in given.student or () if student not in folders]
    if unknown or not folders:
        who = f"{', '.join(unknown)} handed in nothing" if unknown else "nobody has handed it in"
        raise UsageError(
            f"{given.lab}: {who}; {len(folders)} submissions are in {course / 'submitted'}. "
            f"Collect them with `nbgrader collect {given.lab}` or `nbgrader zip_collect {given.lab}`."
        )
    return {student: folders[student] for student in given.student or sorted(folders)}


def _work(given: argparse.Namespace, version: str, student: str, folder: Path) -> Work:
    raw, why = None, ""
    try:
        raw = read_file(notebook_in(folder, given.lab))
    except UnreadableSubmission as reason:
        why = str(reason)
    return Work(given.lab, version, student, raw, why, given.seed, limits_of(given), not given.no_sandbox)


def _kept(
    given: argparse.Namespace, course: Path, recorder: Recorder, ledger: Ledger, works: Iterable[Work]
) -> dict[str, Row]:
    """Return the rows of those whose grade stands; nobody's where they are named, or all are to be graded again."""
    if given.again or given.student or not ledger.entries:
        return {}
    recorded = recorder.scores()
    kept: dict[str, Row] = {}
    for work in works:
        if work.student in recorded and ledger.is_unchanged(work, given.asked_seed):
            with suppress(OSError, ValueError, TypeError, KeyError, AutograderError):
                text = _report_path(course, work.lab, work.student).read_text(encoding="utf-8")
                kept[work.student] = Row.of(Report.from_json(json.loads(text)))
    return kept


def _save(course: Path, report: Report, text: str) -> None:
    path = _report_path(course, report.lab, report.student)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _report_path(course: Path, lab: str, student: str) -> Path:
    # Who handed in is a folder's name; what a file name cannot hold is written as its number.
    name = re.sub(r"[^\w.@+ -]", lambda found: f"%{ord(found[0]):02X}", student)
    return course / "reports" / lab / f"{name}.json"
