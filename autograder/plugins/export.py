"""Grades as CSV that a spreadsheet can open without running anything.

nbgrader's own export joins values with commas: a name with a comma shifts the columns, and a name that begins with
`=` is a formula in whoever's spreadsheet opens the file. Same columns here, written by the csv module, every value in
quotes, and a formula made text by an apostrophe before it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin

COLUMNS = (
    "assignment",
    "duedate",
    "timestamp",
    "student_id",
    "last_name",
    "first_name",
    "email",
    "raw_score",
    "late_submission_penalty",
    "score",
    "max_score",
)
# What spreadsheets take for the beginning of a formula; tab and carriage return are skipped on the way to one.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")


class CsvExport(ExportPlugin):  # type: ignore[misc]
    """`nbgrader export` writes grades.csv, or the file named with --to."""

    def export(self, gradebook: Gradebook) -> None:
        """Write one row for each student and assignment, also where nothing was handed in."""
        path = Path(self.to or "grades.csv")
        self.log.info("Exporting grades to %s", path)
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            writer.writerow(COLUMNS)
            for row in self.rows(gradebook):
                writer.writerow([as_text(row[column]) for column in COLUMNS])

    def rows(self, gradebook: Gradebook) -> Iterator[dict[str, Any]]:
        """Yield the values of each row by column."""
        assignments, students = [str(name) for name in self.assignment], [str(name) for name in self.student]
        for assignment in gradebook.assignments:
            if assignments and assignment.name not in assignments:
                continue
            for student in gradebook.students:
                if students and student.id not in students:
                    continue
                yield {
                    "assignment": assignment.name,
                    "duedate": assignment.duedate,
                    "student_id": student.id,
                    "last_name": student.last_name,
                    "first_name": student.first_name,
                    "email": student.email,
                    "max_score": assignment.max_score,
                } | _scores(gradebook, assignment.name, student.id)


def _scores(gradebook: Gradebook, assignment: str, student: str) -> dict[str, Any]:
    try:
        submission = gradebook.find_submission(assignment, student)
    except MissingEntry:
        return {"timestamp": "", "raw_score": 0.0, "late_submission_penalty": 0.0, "score": 0.0}
    penalty = submission.late_submission_penalty
    return {
        "timestamp": submission.timestamp,
        "raw_score": submission.score,
        "late_submission_penalty": penalty,
        "score": max(0.0, submission.score - penalty),
    }


def as_text(value: Any) -> str:
    """Return a value as the text of a cell that no spreadsheet takes for a formula; numbers stay numbers."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return str(value)
    text = value.replace("\0", "")
    return "'" + text if text.lstrip(" ").startswith(FORMULA_STARTS) else text
