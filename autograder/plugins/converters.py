"""nbgrader's converters in the form in which the one writer runs them: for a batch, on a gradebook that is open.

`RecordAutograde` is nbgrader's Autograde without its first half: the notebooks are grafted and graded already, so that
nothing is sanitized, read again or run. Which folders are made, replaced and locked, what is copied into them and what hooks are
called stays nbgrader's business. Neither looks for submissions; they are told.

nbconvert copies a notebook four times for each of the two, since it knows nothing of the steps that change it. Where all steps
are ours, they get the notebook itself (`_Told.stepped`), and the feedback page is made of what was just written.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbformat import NotebookNode
from nbformat.v4 import new_notebook
from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
from nbgrader.converters.base import BaseConverter
from nbgrader.utils import find_all_files

from autograder.plugins.feedback import FeedbackExporter
from autograder.plugins.gradebook import OpenGradebook
from autograder.plugins.sanitize import SubmissionExporter
from autograder.plugins.steps import is_ours, ours
from autograder.plugins.written import node, written

if TYPE_CHECKING:
    from autograder.grading.report import Graded


class _Told:
    """A converter that is told which notebooks there are, by the folder of each submission."""

    gradebook: OpenGradebook
    folders: Mapping[str, list[str]]
    preprocessors: list[Any]
    alone: bool  # whether all steps are on the open gradebook, and nobody else looks into the database between them
    exporter: Any
    coursedir: Any

    def init_notebooks(self) -> None:
        self.assignments = {folder: list(notebooks) for folder, notebooks in self.folders.items()}
        self.notebooks: list[str] = []

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """Tell the course's hooks whose folder it is, and make room for it."""
        self.coursedir.student_id = student_id
        return bool(super().init_destination(assignment_id, student_id))  # type: ignore[misc]

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Copy what lies beside the notebooks, as nbgrader does."""
        if not _only_notebooks(self._format_source(assignment_id, student_id)):  # type: ignore[attr-defined]
            BaseConverter.init_assignment(self, assignment_id, student_id)

    def is_plain(self, exporter: Any) -> bool:
        """Tell whether nothing but our own steps and exporter sees a notebook; a course may have named others."""
        return type(self.exporter) is exporter and all(map(is_ours, self.exporter._preprocessors))

    def stepped(self, notebook: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        """Run the steps on this notebook, and no copy of it."""
        resources = self.exporter._init_resources(resources)
        for step in self.exporter._preprocessors:
            notebook, resources = step(notebook, resources)
        return notebook, resources

    def let_go(self) -> None:
        """Forget the notebooks: a converter refers to itself, and would keep them until Python looks for such rubbish, for long."""
        for name in ("results", "made", "folders"):
            vars(self).pop(name, None)


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
    made: dict[str, NotebookNode]  # by path, what was written and need not be read again

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.preprocessors, self.alone = ours(self.autograde_preprocessors)
        self.made = {}

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Fill the folder with what is no notebook, and enter the submission; nbgrader opens six gradebooks for that."""
        super().init_assignment(assignment_id, student_id)
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
        if _only_notebooks(source):
            return
        kept = {os.path.join(source, name) for name in self.exclude_overwriting.get(assignment_id, ())}
        for path in set(find_all_files(source, [*self.coursedir.ignore, "*.ipynb"])) - kept:
            copied = Path(destination, os.path.relpath(path, source))
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.unlink(missing_ok=True)
            shutil.copy(path, copied)

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """Write the notebook that `steps.HandOver` puts in the place of an empty one."""
        resources = self.init_single_notebook_resources(notebook_filename)
        nothing = new_notebook()  # type: ignore[no-untyped-call]
        if not self.is_plain(SubmissionExporter) or self.exporter.nbformat_version != nothing.nbformat:
            output, resources = self.exporter.from_notebook_node(nothing, resources)
            self.write_single_notebook(output, resources)
            return
        notebook, resources = self.stepped(nothing, resources)
        self.write_single_notebook(written(notebook), resources)
        if self.post_convert_hook is None:  # which could change the file
            self.made[os.path.join(self.writer.build_directory, os.path.basename(notebook_filename))] = notebook


class RecordFeedback(_Told, GenerateFeedback):  # type: ignore[misc]
    """Writes the feedback pages of notebooks that were recorded."""

    made: Mapping[str, NotebookNode]

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.preprocessors, self.alone = ours(self.preprocessors)

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """Write the page of a notebook, which is read again only if somebody may have changed the file."""
        notebook = self.made.get(notebook_filename) if self.pre_convert_hook is None else None
        if notebook is None or not self.is_plain(FeedbackExporter):
            super().convert_single_notebook(notebook_filename)
            return
        resources = self.init_single_notebook_resources(notebook_filename)
        notebook, resources = self.stepped(_tagged_anew(notebook), resources)
        self.write_single_notebook(self.exporter.page(notebook, resources), resources)


def _only_notebooks(folder: str) -> bool:
    """Tell whether nbgrader's `find_all_files`, which looks for each pattern anew for each file, would find no others."""
    with suppress(OSError), os.scandir(folder) as entries:
        return all(
            entry.name.endswith(".ipynb") and not entry.name.startswith(".") and entry.is_file() for entry in entries
        )
    return False


def _tagged_anew(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook with tags that may be changed; all else is shared, for reading only."""
    cells = [
        node({**cell, "metadata": node({**cell["metadata"], "nbgrader": node(cell["metadata"]["nbgrader"])})})
        if "nbgrader" in cell["metadata"]
        else cell
        for cell in notebook["cells"]
    ]
    return node({**notebook, "cells": cells})


def enter(gradebook: OpenGradebook, lab: str, student: str, **given: Any) -> None:
    """Make sure that a student and what was handed in stand in the gradebook."""
    gradebook.update_or_create_student(student)
    gradebook.update_or_create_submission(lab, student, **given)


def give_nothing(gradebook: OpenGradebook, lab: str, student: str, notebook: str) -> None:
    """Record zero for a notebook that was not handed in."""
    for grade in gradebook.grades_of(student, notebook):
        grade.auto_score, grade.needs_manual_grade = 0, False
    gradebook.db.commit()
