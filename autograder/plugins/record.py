"""Write the results of a class into nbgrader's gradebook and folders, a batch at a time: the one writer of a class run.

`autograder grade` grades in workers; here one process runs nbgrader's Autograde with notebooks that are graded already, and then
its GenerateFeedback. So manual grades, comments, late penalties and the folders are nbgrader's business, exactly as with
`nbgrader autograde`; what is the same for a whole batch is done once for it (`converters`, `steps`, `gradebook`).
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbgrader.api import Assignment, MissingEntry, SubmittedAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import capture_log
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.errors import CourseError
from autograder.plugins.converters import PrepareAssignment, RecordAutograde, RecordFeedback, enter, give_nothing
from autograder.plugins.database import patient_url
from autograder.plugins.gradebook import OpenGradebook

if TYPE_CHECKING:
    from autograder.grading.report import Graded


class Recorder:
    """Writes gradebook, autograded/ and feedback/ of one lab; for one process and one thread."""

    def __init__(self, course: Path, lab: str) -> None:
        self.lab = lab
        warnings.filterwarnings("ignore", module=r"nbgrader\.")  # nbgrader's own, about its database library
        self.config: Config = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
        self.config.NbGrader.logfile = ""
        self.config.Exporter.optimistic_validation = True  # a notebook is validated after the last step, not after each
        self.coursedir = CourseDirectory(config=self.config, assignment_id=lab)
        self.coursedir.db_url = patient_url(self.coursedir.db_url).render_as_string(hide_password=False)
        self.log = logging.getLogger(__name__)
        self.log.setLevel(logging.WARNING)
        self.log.propagate = False

    @cached_property
    def gradebook(self) -> OpenGradebook:
        """The gradebook, which stays open; one without tables gets them."""
        return OpenGradebook(self.coursedir.db_url, self.coursedir.course_id)

    def prepare(self) -> None:
        """Make the gradebook, with the lab as it is now; the release is made again, which changes no byte.

        Raises:
            CourseError: the gradebook cannot be opened, or nbgrader does not take the lab.
        """
        made = self._made(PrepareAssignment, gradebook=self.gradebook, force=True, create_assignment=True)
        with self._told(), self.gradebook.waiting(), self.gradebook.knowing():
            wrong = self._trouble(made)
        if wrong:
            raise CourseError(wrong)

    def record(self, results: Mapping[str, Graded]) -> None:
        """Write a batch: graded notebooks, automatic scores, feedback pages.

        Raises:
            CourseError: nbgrader could not record somebody of the batch.
        """
        folders = {student: self._path(self.coursedir.submitted_directory, student) for student in results}
        submitted = {str(folder): found for folder in folders.values() if (found := _notebooks(folder))}
        autograde = self._made(
            RecordAutograde, gradebook=self.gradebook, results=results, folders=submitted, force=True
        )
        feedback = self._made(RecordFeedback, gradebook=self.gradebook, made=autograde.made, force=True)
        with self._batch(results, waits=autograde.alone and feedback.alone):
            for student, folder in folders.items():
                if str(folder) not in submitted:  # which nbgrader would pass over
                    enter(self.gradebook, self.lab, student)
                    give_nothing(self.gradebook, self.lab, student, self.lab)
            wrong = self._trouble(autograde) if submitted else ""
            self.gradebook.settle()
            graded = (
                self._path(self.coursedir.autograded_directory, s) for s, f in folders.items() if str(f) in submitted
            )
            feedback.folders = {str(folder): found for folder in graded if (found := _notebooks(folder))}
            also_wrong = self._trouble(feedback) if feedback.folders else ""
        for converter in (autograde, feedback):
            converter.let_go()
        if wrong or also_wrong:
            raise CourseError(wrong or also_wrong)

    def feedback_page(self, student: str) -> Path:
        """Return where the feedback page of a student lies."""
        return self._path(self.coursedir.feedback_directory, student) / f"{self.lab}.html"

    def feedback_root(self) -> Path:
        """Return the folder that holds all feedback."""
        return self._path(self.coursedir.feedback_directory, "-").parents[1]

    def scores(self) -> dict[str, tuple[float, float, bool]]:
        """Return for each student the score in the gradebook with manual grades, the maximum, and whether a person must look."""
        lab = select(Assignment.id).where(Assignment.name == self.lab).scalar_subquery()
        own = SubmittedAssignment
        asked = select(own.student_id, own.score, own.max_score, own.needs_manual_grade).where(own.assignment_id == lab)
        with self.gradebook.db() as session:
            return {
                str(who): (float(score), float(most), bool(look)) for who, score, most, look in session.execute(asked)
            }

    def close(self) -> None:
        """Close the gradebook; what comes later opens it again."""
        if "gradebook" in vars(self):
            self.gradebook.close()
            del self.gradebook

    def _path(self, kind: str, student: str) -> Path:
        return Path(self.coursedir.format_path(kind, student, self.lab))

    @contextmanager
    def _batch(self, students: Iterable[str], *, waits: bool) -> Iterator[None]:
        with self._told(), self.gradebook.batch(self.lab, list(students), waits=waits):
            yield

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Make a failure of the database one of the course's."""
        try:
            yield
        except MissingEntry as error:
            raise CourseError(
                f"The gradebook does not know {self.lab}; run `nbgrader generate_assignment {self.lab}`."
            ) from error
        except SQLAlchemyError as error:
            raise CourseError(f"The gradebook could not be written: {error}") from error

    def _made(self, converter: Any, **settings: Any) -> Any:
        made = converter(coursedir=self.coursedir, config=self.config, log=self.log)
        for name, value in settings.items():
            setattr(made, name, value)
        return made

    def _trouble(self, converter: Any) -> str:
        """Run a converter; return what went wrong, in its own words."""
        said = capture_log(converter)
        last = said.get("error", "").strip().splitlines()[-1:]
        if last == ["KeyboardInterrupt"]:  # it holds that for a failure like any other
            raise KeyboardInterrupt
        why = f"nbgrader could not record {self.lab}: {' '.join(last)}\n{said.get('log', '')[-2000:]}"
        return "" if said["success"] else why


def _notebooks(folder: Path) -> list[str]:
    """Return the notebooks in a folder, in nbgrader's order; links are none."""
    return sorted(str(path) for path in folder.glob("*.ipynb") if path.is_file() and not path.is_symlink())
