"""How a graded notebook is handed to nbgrader: with its report inside, and only if nbgrader will read the same points.

Used where a notebook is graded (`execute`) and where one that was graded elsewhere is recorded (`steps`). Imports no torch.
"""

from __future__ import annotations

from nbformat import NotebookNode
from nbgrader.utils import determine_grade

from autograder.errors import CourseError
from autograder.grading.report import Report

REPORT_KEY = "autograder"


def handed_over(notebook: NotebookNode, report: Report) -> NotebookNode:
    """Return the notebook with its report in the metadata, where the feedback page finds it.

    Raises:
        CourseError: nbgrader would read other points than the report gives.
    """
    check_scores(notebook, report)
    notebook.metadata[REPORT_KEY] = report.to_json()
    return notebook


def check_scores(notebook: NotebookNode, report: Report) -> None:
    """Make sure that nbgrader's scorer will read in every graded cell the points that the report gives.

    Raises:
        CourseError: it would not, as when the notebook and the checks disagree about points.
    """
    results = {result.name: result for result in report.checks}
    for cell in notebook["cells"]:
        tags = cell["metadata"].get("nbgrader", {})
        if not tags.get("grade") or tags.get("solution"):
            continue
        result = results.get(tags["grade_id"])
        if result is None:
            raise CourseError(
                f"The test cell {tags['grade_id']} of {report.lab} has no check; add one, or take it out."
            )
        read, available = determine_grade(cell)
        if (read, available) != (result.points, result.max_points):
            raise CourseError(
                f"The check {result.name} gives {result.points:g} of {result.max_points:g} points, and nbgrader would "
                f"record {read} of {available:g}; make the notebook and the checks of {report.lab} agree."
            )
