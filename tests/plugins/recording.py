"""What the tests of the one writer share: a class that is graded already, and two ways to record it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import nbformat
from nbgrader.api import Assignment, Comment, Grade, Gradebook, Student, SubmittedAssignment, SubmittedNotebook
from nbgrader.api import Course as CourseRow
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets.config.loader import PyFileConfigLoader

from autograder.grading.grade import Graded
from autograder.grading.outputs import scoring
from autograder.grading.report import CheckResult, total
from autograder.grading.submission import graft, read_notebook
from autograder.plugins.handover import handed_over
from autograder.plugins.record import Recorder
from tests.plugins.conftest import LAB, Course
from tests.submissions import odd

MAX = {"double": 2.0, "triple": 3.0}


def graded(course: Course, student: str, notebook: odd.NotebookDict, *lost: str, notes: Sequence[str] = ()) -> Graded:
    """What a worker would send back; the checks in `lost` give no points, or a third with a "/" before."""
    release = nbformat.read(course.root / "labs" / LAB / f"{LAB}.ipynb", as_version=4)
    book = graft(release, read_notebook(odd.as_bytes(notebook))).notebook
    checks = []
    for name, most in MAX.items():
        points = most / 3 if f"/{name}" in lost else 0.0 if name in lost else most
        checks.append(
            CheckResult(name, name, f"{name} <it>", points, most, points == most, f"{name} should be 6; it is 9")
        )
        next(cell for cell in book.cells if cell.id == name).outputs = scoring(checks[-1])
    return Graded(total(LAB, student, 7, tuple(checks), "bubblewrap", tuple(notes)), book)


class Replay(NbGraderPreprocessor):
    """For nbgrader's own Autograde: puts the graded notebook in the place of the sanitized one."""

    results: ClassVar[Mapping[str, Graded]] = {}

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        found = self.results[resources["nbgrader"]["student"]]
        return handed_over(copy.deepcopy(found.notebook), found.report), resources


def by_nbgrader(course: Course, results: Mapping[str, Graded]) -> None:
    """Record one student after the other with nbgrader's own converters."""
    config = PyFileConfigLoader("nbgrader_config.py", path=str(course.root)).load_config()
    steps = config.Autograde.autograde_preprocessors
    config.Autograde.autograde_preprocessors = [Replay if str(step).endswith(".Execute") else step for step in steps]
    coursedir = CourseDirectory(config=config, assignment_id=LAB)
    Replay.results = results
    for student in results:
        coursedir.student_id = student
        for converter in (Autograde, GenerateFeedback):
            made = converter(coursedir=coursedir, config=config)
            made.force = True
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of nbgrader's own, about its database library
                made.start()


def by_us(course: Course, results: Mapping[str, Graded], batch: int) -> None:
    """Record in batches."""
    recorder = Recorder(course.root, LAB)
    students = list(results)
    for first in range(0, len(students), batch):
        recorder.record({student: results[student] for student in students[first : first + batch]})
    recorder.close()


def files(course: Course) -> dict[str, tuple[int, bytes]]:
    """Every file that recording makes, with its permissions."""
    return {
        str(path.relative_to(course.root)): (path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
        for top in ("autograded", "feedback")
        for path in sorted((course.root / top).rglob("*"))
    }


def rows(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of a gradebook that recording makes or changes, without the random keys."""
    with Gradebook(url, "normalization") as gradebook:
        ask = gradebook.db.query
        found: dict[str, list[tuple[Any, ...]]] = {
            "student": [(s.id, s.first_name, s.last_name, s.email) for s in ask(Student)],
            "submission": [(s.student_id, s.name, s.timestamp, s.extension) for s in ask(SubmittedAssignment)],
            "notebook": [(n.student.id, n.name, n.late_submission_penalty, n.flagged) for n in ask(SubmittedNotebook)],
            "grade": [
                (g.student.id, g.name, g.auto_score, g.manual_score, g.extra_credit, g.needs_manual_grade)
                for g in ask(Grade)
            ],
            "comment": [(c.student.id, c.name, c.auto_comment, c.manual_comment) for c in ask(Comment)],
            "lab": [(a.name, a.duedate, a.course_id) for a in ask(Assignment)],
            "course": [(c.id,) for c in ask(CourseRow)],
        }
        return {kind: sorted(given, key=repr) for kind, given in found.items()}


def results_of(course: Course, *, second: bool = False) -> dict[str, Graded]:
    """The class, graded; in the second run some have lost or won something."""
    found = {
        "right": graded(course, "right", odd.solved(why="Because <script>alert(1)</script> *so*.")),
        "wrong": graded(course, "wrong", odd.solved(double="x ="), "double", "triple"),
        "some": graded(course, "some", odd.solved(), "/double", "triple" if second else "/triple"),
        "noted": graded(course, "noted", odd.solved(), notes=("A note & more.",)),
        "silent": graded(course, "silent", odd.release(), *([] if second else MAX)),
        "e x+t": graded(course, "e x+t", odd.put_behind(odd.solved(), "triple", odd.code("mine", "print(1)"))),
        **{name: graded(course, name, odd.solved(), "double") for name in ("late", "too-much", "too-little", "early")},
        "again": graded(course, "again", odd.solved(), *(["triple"] if second else ["double"])),
        "renamed": graded(course, "renamed", odd.solved()),
    }
    return found
