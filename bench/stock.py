"""Stock nbgrader on the same submissions: a course of its own whose graded cells are plain asserts.

`nbgrader autograde LAB` and `nbgrader generate_feedback LAB`, as installed, with nbgrader's defaults: one submission after the
other, a new kernel for each. The set-up cell imports torch and not this course's package, so that nothing of ours slows it down.
"""

from __future__ import annotations

import copy
import shutil
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring.filling import filled, grade_id
from bench.asserts import SET_UP, cells_of
from bench.meter import Cost, measured
from bench.submissions import Submission, instructors, without_experiments

BIN = Path(sys.executable).parent
CONFIG = """\
import os
c = get_config()
os.environ["PATH"] = {path!r} + os.pathsep + os.environ.get("PATH", os.defpath)  # nbgrader starts the program `alembic`
c.CourseDirectory.course_id = "bench"
c.NbGrader.logfile = ""
"""
QUIET: dict[str, str | None] = {"PYTHONWARNINGS": "ignore", "NORMALIZATION_COURSE": None}
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
AS_IT_COMES: dict[str, str | None] = {"OMP_NUM_THREADS": None}


class StockCourse:
    """A course for stock nbgrader in a folder of its own."""

    def __init__(self, folder: Path, course: Path, lab: str) -> None:
        self.folder, self.lab = folder, lab
        shutil.rmtree(folder, ignore_errors=True)
        source = folder / "source" / lab
        source.mkdir(parents=True)
        (folder / "nbgrader_config.py").write_text(CONFIG.format(path=str(BIN)))
        nbformat.write(with_asserts(course, lab), source / f"{lab}.ipynb")
        self.nbgrader("generate_assignment")
        self.release: NotebookNode = nbformat.read(folder / "release" / lab / f"{lab}.ipynb", as_version=4)

    def nbgrader(self, command: str, environment: Mapping[str, str | None] | None = None) -> Cost:
        """Run one of nbgrader's commands on the lab."""
        words = (BIN / "nbgrader", command, self.lab)
        return measured(words, where=self.folder, environment={**QUIET, **(environment or {})}, timeout_s=1800)

    def hand_in(self, submissions: Sequence[Submission]) -> None:
        """Replace what is handed in, and forget what was graded."""
        for name in ("submitted", "autograded", "feedback"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for submission in submissions:
            folder = self.folder / "submitted" / submission.student / self.lab
            folder.mkdir(parents=True)
            nbformat.write(filled(self.release, submission.cells), folder / f"{self.lab}.ipynb")

    def grade(self, submissions: Sequence[Submission], environment: Mapping[str, str | None]) -> dict[str, Any]:
        """Grade and write feedback; return the cost of both and what came of it."""
        self.hand_in(submissions)
        autograde = self.nbgrader("autograde", environment)
        feedback = self.nbgrader("generate_feedback", environment)
        pages = len(list(self.folder.glob("feedback/*/*/*.html")))
        assert pages == len(submissions), f"stock nbgrader wrote {pages} feedback pages for {len(submissions)}"
        return {
            "submissions": len(submissions),
            "wall_s": autograde.wall_s + feedback.wall_s,
            "cpu_s": autograde.cpu_s + feedback.cpu_s,
            "autograde_s": autograde.wall_s,
            "feedback_s": feedback.wall_s,
            "mean_points": self.mean_points([s.student for s in submissions]),
            "mean_points_of_right": self.mean_points([s.student for s in submissions if s.kind == "right"]),
        }

    def mean_points(self, students: Sequence[str]) -> float | None:
        """Return the mean of the automatic points, from the gradebook."""
        asked = """select student.id, sum(grade.auto_score) from grade
            join submitted_notebook on grade.notebook_id = submitted_notebook.id
            join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
            join student on submitted_assignment.student_id = student.id group by student.id"""
        with sqlite3.connect(self.folder / "gradebook.db") as gradebook:
            points = dict(gradebook.execute(asked).fetchall())
        found = [float(points[student]) for student in students if student in points]
        return sum(found) / len(found) if found else None


def with_asserts(course: Path, lab: str) -> NotebookNode:
    """Return the instructor's notebook with asserts in place of the checks."""
    made, asserts = copy.deepcopy(without_experiments(instructors(course, lab))), cells_of(lab)
    for cell in made.cells:
        name = grade_id(cell)
        if name in asserts:
            cell.source = asserts[name]
        elif cell.metadata.get("nbgrader", {}).get("grade") and cell.cell_type == "code":
            raise ValueError(f"bench/asserts/{lab}.py has no cell for the check {name}; write one.")
    assert SET_UP in {grade_id(cell) for cell in made.cells}
    return made


def measure(course: Path, scratch: Path, lab: str, submissions: Sequence[Submission], trial: int) -> dict[str, Any]:
    """Grade a class with stock nbgrader, in the better of two environments, which `trial` submissions decide; 0: one thread."""
    stock = StockCourse(scratch / "stock" / lab, course, lab)
    start_s = measured((BIN / "nbgrader", "--version"), where=stock.folder, environment=QUIET).wall_s
    tried = {
        word: stock.grade(submissions[:trial], environment)["wall_s"]
        for word, environment in (("as it comes", AS_IT_COMES), ("1", ONE_THREAD))
        if trial
    }
    better = min(tried, key=lambda word: tried[word], default="1")
    found = stock.grade(submissions, ONE_THREAD if better == "1" else AS_IT_COMES)
    return _with_each_s({**found, "start_s": 2 * start_s, "omp_num_threads": better, "trial_s": tried})


def measure_again(
    course: Path, scratch: Path, lab: str, submissions: Sequence[Submission], before: Mapping[str, Any]
) -> dict[str, Any]:
    """Grade the same class once more and return the mean of both: between them a machine's speed may change by a quarter."""
    stock = StockCourse(scratch / "stock" / lab, course, lab)
    after = stock.grade(submissions, ONE_THREAD if before["omp_num_threads"] == "1" else AS_IT_COMES)
    return mean_of(before, after)


def mean_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was measured twice as one, with the seconds of each."""
    times = {key: (before[key] + after[key]) / 2 for key in ("wall_s", "cpu_s", "autograde_s", "feedback_s")}
    return _with_each_s({**before, **times, "walls_s": [before["wall_s"], after["wall_s"]]})


def _with_each_s(found: Mapping[str, Any]) -> dict[str, Any]:
    """Both commands start once for a whole class, however large; the rest is one submission after the other."""
    return {**found, "each_s": (found["wall_s"] - found["start_s"]) / found["submissions"]}
