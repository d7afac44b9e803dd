"""Write the results of a class into nbgrader's gradebook and folders, by nbgrader's own converters.

`autograder grade` grades in workers; here one process, the only writer, runs nbgrader's Autograde with an Execute that already
has the answers, and then its GenerateFeedback. So manual grades, comments, late penalties and the folders are nbgrader's business,
exactly as with `nbgrader autograde`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.apps.api import NbGraderAPI
from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import capture_log
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.errors import CourseError
from autograder.grading.course import CourseLab
from autograder.grading.grade import Graded
from autograder.grading.judge import Judge
from autograder.plugins.execute import Execute


class RecordedExecute(Execute):
    """Hands over what the workers found, instead of grading."""

    results: ClassVar[dict[str, Graded]] = {}

    def grade(self, path: Path, lab: CourseLab, judge: Judge, student: str) -> Graded:
        """Return the result of the student."""
        return self.results[student]


class Recorder:
    """The one writer of a class run."""

    def __init__(self, course: Path, lab: str) -> None:
        self.lab = lab
        warnings.filterwarnings("ignore", module=r"nbgrader\.")  # nbgrader's own, about its database library
        config: Config = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
        config.NbGrader.logfile = ""
        wanted = config.Autograde.autograde_preprocessors
        config.Autograde.autograde_preprocessors = [RecordedExecute if "Execute" in str(p) else p for p in wanted]
        self.coursedir = CourseDirectory(config=config)
        self.api = NbGraderAPI(self.coursedir, config=config)
        self.api.log.propagate = False

    def students(self) -> dict[str, Path]:
        """Return who has submitted, with the folder of each submission."""
        pattern = self.coursedir.format_path(self.coursedir.submitted_directory, "*", self.lab)
        root = Path(pattern.split("*")[0])
        folders = sorted(root.glob(f"*/{self.lab}")) if root.is_dir() else []
        return {folder.parent.name: folder for folder in folders if folder.is_dir() and not folder.is_symlink()}

    def prepare(self) -> None:
        """Make sure that the gradebook knows the lab as it is now; the release is made again, which changes no byte."""
        with self._about(""):
            self._run(GenerateAssignment(coursedir=self.coursedir, parent=self.api), force=True, create_assignment=True)

    def record(self, results: Mapping[str, Graded]) -> None:
        """Write a batch: graded notebooks, automatic scores, feedback pages."""
        RecordedExecute.results = dict(results)
        for student in results:
            with self._about(student):
                if not self._has_notebook(student):
                    self._record_nothing(student)
                    continue
                self._run(Autograde(coursedir=self.coursedir, parent=self.api), force=True, create_student=True)
                self._run(GenerateFeedback(coursedir=self.coursedir, parent=self.api), force=True)

    def _has_notebook(self, student: str) -> bool:
        folder = Path(self.coursedir.format_path(self.coursedir.submitted_directory, student, self.lab))
        return any(path.is_file() and not path.is_symlink() for path in folder.glob("*.ipynb"))

    def _record_nothing(self, student: str) -> None:
        """Record zero for a folder without a notebook, which nbgrader would pass over."""
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook:
            gradebook.update_or_create_student(student)
            gradebook.update_or_create_submission(self.lab, student)
            for grade in gradebook.find_submission_notebook(self.lab, self.lab, student).grades:
                grade.auto_score, grade.needs_manual_grade = 0, False
            gradebook.db.commit()

    def feedback_page(self, student: str) -> Path:
        """Return where the feedback page of a student lies."""
        folder = self.coursedir.format_path(self.coursedir.feedback_directory, student, self.lab)
        return Path(folder) / f"{self.lab}.html"

    def feedback_root(self) -> Path:
        """Return the folder that holds all feedback."""
        return Path(self.coursedir.format_path(self.coursedir.feedback_directory, "-", "-")).parents[1]

    def scores(self) -> dict[str, tuple[float, float, bool]]:
        """Return for each student the score in the gradebook with manual grades, the maximum, and whether a person must look."""
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook:
            try:
                submissions = gradebook.assignment_submissions(self.lab)
            except MissingEntry:
                return {}
            return {s.student.id: (float(s.score), float(s.max_score), bool(s.needs_manual_grade)) for s in submissions}

    @contextmanager
    def _about(self, student: str) -> Any:
        before = self.coursedir.assignment_id, self.coursedir.student_id
        self.coursedir.assignment_id, self.coursedir.student_id = self.lab, student or "."
        try:
            yield
        finally:
            self.coursedir.assignment_id, self.coursedir.student_id = before

    def _run(self, converter: Any, **settings: Any) -> None:
        for name, value in settings.items():
            setattr(converter, name, value)
        said = capture_log(converter)
        if not said["success"]:
            last = said.get("error", "").strip().splitlines()[-1:]
            raise CourseError(f"nbgrader could not record {self.lab}: {' '.join(last)}\n{said.get('log', '')[-2000:]}")
