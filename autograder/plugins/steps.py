"""nbgrader's steps in the form in which the one writer takes them: on a gradebook that is open, for work that is graded.

Each is nbgrader's own preprocessor with its own rules. What is left out is what costs most of its time: opening a
gradebook, and checking anew what is the same for everyone. `ours` puts them in the place of nbgrader's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from jsonschema.validators import validator_for  # type: ignore[import-untyped]
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode, from_dict
from nbgrader.nbgraderformat import MetadataValidator, ValidationError
from nbgrader.nbgraderformat.common import BaseMetadataValidator
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    NbGraderPreprocessor,
    SaveAutoGrades,
    SaveCells,
)
from traitlets.utils.importstring import import_item

from autograder.plugins.feedback import Grades
from autograder.plugins.handover import handed_over

Resources = dict[str, Any]


class HandOver(NbGraderPreprocessor):  # type: ignore[misc]
    """In the place of Execute: the graded notebook that the worker found, its scores compared with the report."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Return the graded notebook."""
        names = resources["nbgrader"]
        graded = self.parent.parent.results[names["student"]]
        for note in graded.report.notes:
            self.log.warning("%s, %s: %s", names["student"], names["notebook"], note)
        return handed_over(graded.notebook, graded.report), resources


class _OnOpenGradebook:
    """What the steps below share: whose notebook it is, and the gradebook of the converter they work for."""

    def _begin(self, resources: Resources) -> Any:
        names = resources["nbgrader"]
        self.notebook_id, self.assignment_id = names["notebook"], names["assignment"]
        self.student_id, self.db_url = names["student"], names["db_url"]
        self.gradebook: Any = self.parent.parent.gradebook  # type: ignore[attr-defined]
        return self.gradebook

    def _each_tagged(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Do what nbgrader does for each cell, with those that are not its own left out: it looks at them for long."""
        for index, cell in enumerate(nb["cells"]):
            if "nbgrader" in cell["metadata"]:
                nb["cells"][index], resources = self.preprocess_cell(cell, resources, index)  # type: ignore[attr-defined]
        return nb, resources


class SaveScores(_OnOpenGradebook, SaveAutoGrades):  # type: ignore[misc]
    """The machine's scores and comments of a notebook; a person's stay."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Save what stands in the notebook."""
        self._begin(resources)
        return self._each_tagged(nb, resources)


class LatePenalties(_OnOpenGradebook, AssignLatePenalties):  # type: ignore[misc]
    """The penalty that the course's plug-in gives for handing in late."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Give the penalty, or take one away that was given before."""
        gradebook = self._begin(resources)
        submission = gradebook.find_submission(self.assignment_id, self.student_id)
        notebook = gradebook.find_submission_notebook(self.notebook_id, self.assignment_id, self.student_id)
        notebook.late_submission_penalty = None
        late_s = submission.total_seconds_late
        if late_s > 0:
            self.log.warning("%s is %s seconds late", submission, late_s)
            gradebook.add_up(notebook)
            self.init_plugin()
            penalty = self.plugin_inst.late_submission_penalty(self.student_id, notebook.score, late_s)
            self.log.warning("Late submission penalty: %s", penalty)
            if penalty is not None:
                notebook.late_submission_penalty = self._check_late_penalty(notebook, penalty)
        gradebook.db.commit()
        return nb, resources


class CheckedCells(CheckCellMetadata):  # type: ignore[misc]
    """nbgrader's check of its own data in the cells, which are our release's: it is made once for a whole class."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Raise nbgrader's ValidationError for cells that it would not take."""
        found = [cell for cell in nb["cells"] if "nbgrader" in cell["metadata"]]
        try:
            _validated(
                json.dumps([[cell["cell_type"], cell["metadata"]["nbgrader"]] for cell in found], sort_keys=True)
            )
        except ValidationError:
            super().preprocess(nb, resources)  # the same again, in nbgrader's words
        return nb, resources


@lru_cache(maxsize=64)
def _validated(cells: str) -> None:
    parts = [{"cell_type": kind, "metadata": {"nbgrader": tags}, "source": ""} for kind, tags in json.loads(cells)]
    _Validator().validate_nb(from_dict({"cells": parts}))  # type: ignore[no-untyped-call]


class _Tags(BaseMetadataValidator):  # type: ignore[misc]
    """Checks a cell's tags against nbgrader's schema, and the schema not each time against that of schemas."""

    def __init__(self) -> None:
        super().__init__()
        self.tags = validator_for(self.schema)(self.schema)

    def validate_cell(self, cell: NotebookNode) -> None:
        """Raise what nbgrader raises for tags that it would not take."""
        tags = cell.metadata.nbgrader
        if tags.get("schema_version") != self.schema_version or not self.tags.is_valid(tags):
            super().validate_cell(cell)


class _Validator(MetadataValidator, _Tags):  # type: ignore[misc]
    """nbgrader's validator, which asks the one above where it would ask its own base."""


class SavedCells(_OnOpenGradebook, SaveCells):  # type: ignore[misc]
    """The cells of a lab, for the gradebook."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Save what the author's notebook says of them."""
        self._begin(resources)
        self.new_grade_cells: dict[str, Any] = {}
        self.new_solution_cells: dict[str, Any] = {}
        self.new_task_cells: dict[str, Any] = {}
        self.new_source_cells: dict[str, Any] = {}
        nb, resources = Preprocessor.preprocess(self, nb, resources)  # type: ignore[no-untyped-call]
        self._create_notebook(nb)
        return nb, resources


class RecordedGrades(_OnOpenGradebook, Grades):
    """Scores and comments from the gradebook, for the feedback page."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Put them into the notebook and the resources."""
        gradebook = self._begin(resources)
        nb, resources = self._each_tagged(nb, resources)
        notebook = gradebook.find_submission_notebook(self.notebook_id, self.assignment_id, self.student_id)
        penalty = notebook.late_submission_penalty or 0
        names = resources["nbgrader"]
        names |= {"score": notebook.score - penalty, "max_score": notebook.max_score, "late_penalty": penalty}
        return nb, resources


OURS = {
    SaveAutoGrades: SaveScores,
    AssignLatePenalties: LatePenalties,
    CheckCellMetadata: CheckedCells,
    SaveCells: SavedCells,
    Grades: RecordedGrades,
}
EXECUTE = "autograder.plugins.execute.Execute"  # by name, because importing it would import torch


def is_ours(step: object) -> bool:
    """Tell whether a step is one of these, as it stands here."""
    return type(step) in (HandOver, *OURS.values())


def ours(steps: Iterable[Any]) -> tuple[list[Any], bool]:
    """Return a converter's steps with those of this module in the place of nbgrader's, and whether these are all."""
    made, all_ours = [], True
    for step in steps:
        found = step if step == EXECUTE or not isinstance(step, str) else import_item(step)
        instead = HandOver if found == EXECUTE else OURS.get(found)
        all_ours = all_ours and instead is not None
        made.append(instead or found)
    return made, all_ours
