"""nbgrader's converters in the form in which the one writer runs them: for a batch, on a gradebook that is open.

`RecordAutograde` is nbgrader's Autograde without its first half: the notebooks are grafted and graded already, so that
nothing is sanitized, read again or run. Which folders are made, replaced and locked, what is copied into them and what hooks are
called stays nbgrader's business. Neither looks for submissions; they are told.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbformat.v4 import new_notebook
from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
from nbgrader.converters.base import BaseConverter
from nbgrader.utils import find_all_files

from autograder.plugins.gradebook import OpenGradebook
from autograder.plugins.steps import ours

if TYPE_CHECKING:
    from autograder.grading.report import Graded


class _Told:
    """A converter that is told which notebooks there are, by the folder of each submission."""

    gradebook: OpenGradebook
    folders: Mapping[str, list[str]]
    preprocessors: list[Any]
    alone: bool  # whether all steps are on the open gradebook, and nobody else looks into the database between them

    def init_notebooks(self) -> None:
        self.assignments = {folder: list(notebooks) for folder, notebooks in self.folders.items()}
        self.notebooks: list[str] = []


class PrepareAssignment(GenerateAssignment):  # type: ignore[misc]
    """Makes the release once more, and tells the gradebook of the lab's cells."""

    gradebook: OpenGradebook
    preprocessors: list[Any]

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.preprocessors, _ = ours(self.preprocessors)


class RecordAutograde(_Told, Autograde):  # type: ignore[misc]
    """Writes graded notebooks and their scores."""

    results: Mapping[str, Graded]

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.preprocessors, self.alone = ours(self.autograde_preprocessors)

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """Tell the course's hooks whose folder it is, and make room for it."""
        self.coursedir.student_id = student_id
        return bool(super().init_destination(assignment_id, student_id))

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Fill the folder with what is no notebook, and enter the submission; nbgrader opens six gradebooks for that."""
        BaseConverter.init_assignment(self, assignment_id, student_id)
        self._copy_source(assignment_id, self._format_dest(assignment_id, student_id))
        submitted = self._format_source(assignment_id, student_id)
        timestamp = self.coursedir.get_existing_timestamp(submitted)
        enter(self.gradebook, assignment_id, student_id, **({"timestamp": timestamp} if timestamp else {}))
        known = [notebook.name for notebook in self.gradebook.find_assignment(assignment_id).notebooks]
        self.notebooks = [path for path in self.notebooks if Path(path).stem in known]
        for name in known:
            if not Path(submitted, f"{name}.ipynb").exists():
                give_nothing(self.gradebook, assignment_id, student_id, name)

    def _copy_source(self, assignment_id: str, destination: str) -> None:
        source = self.coursedir.format_path(self.coursedir.source_directory, ".", assignment_id)
        kept = {os.path.join(source, name) for name in self.exclude_overwriting.get(assignment_id, ())}
        for path in set(find_all_files(source, [*self.coursedir.ignore, "*.ipynb"])) - kept:
            copied = Path(destination, os.path.relpath(path, source))
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.unlink(missing_ok=True)
            shutil.copy(path, copied)

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """Write the notebook that `steps.HandOver` puts in the place of an empty one."""
        resources = self.init_single_notebook_resources(notebook_filename)
        output, resources = self.exporter.from_notebook_node(new_notebook(), resources)  # type: ignore[no-untyped-call]
        self.write_single_notebook(output, resources)


class RecordFeedback(_Told, GenerateFeedback):  # type: ignore[misc]
    """Writes the feedback pages of notebooks that were recorded."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.preprocessors, self.alone = ours(self.preprocessors)


def enter(gradebook: OpenGradebook, lab: str, student: str, **given: Any) -> None:
    """Make sure that a student and what was handed in stand in the gradebook."""
    gradebook.update_or_create_student(student)
    gradebook.update_or_create_submission(lab, student, **given)


def give_nothing(gradebook: OpenGradebook, lab: str, student: str, notebook: str) -> None:
    """Record zero for a notebook that was not handed in."""
    for grade in gradebook.find_submission_notebook(notebook, lab, student).grades:
        grade.auto_score, grade.needs_manual_grade = 0, False
    gradebook.db.commit()
