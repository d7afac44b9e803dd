"""`nbgrader generate_feedback` writes our feedback page: scores from the gradebook, reasons from the report.

nbgrader's own feedback shows the whole notebook with whatever HTML and scripts a student put in it, and fetches fonts
and MathJax from the network. See `page` for what stands here.
"""

from __future__ import annotations

from typing import Any

from nbconvert.exporters import Exporter
from nbformat import NotebookNode
from nbgrader.preprocessors import GetGrades
from traitlets import Unicode

from autograder.errors import CourseError
from autograder.grading.report import Report
from autograder.plugins.handover import REPORT_KEY
from autograder.plugins.page import feedback_page


class Grades(GetGrades):  # type: ignore[misc]
    """nbgrader's scores and comments from the gradebook, and whether an answer still waits for a person."""

    def _get_score(self, cell: NotebookNode, resources: dict[str, Any]) -> None:
        super()._get_score(cell, resources)
        tags = cell.metadata.nbgrader
        grade = self.gradebook.find_grade(tags["grade_id"], self.notebook_id, self.assignment_id, self.student_id)
        tags["waiting"] = bool(grade.needs_manual_grade) and grade.manual_score is None


class FeedbackExporter(Exporter):
    """Set as `c.GenerateFeedback.exporter_class`, with `Grades` as the one preprocessor."""

    book_url = Unicode("", help="The address of the course's website, with the slash at the end.").tag(config=True)
    output_mimetype = "text/html"

    def _file_extension_default(self) -> str:
        return ".html"

    def from_notebook_node(  # type: ignore[override]  # an exporter that writes text returns text, as in nbconvert
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **kw: Any
    ) -> tuple[str, dict[str, Any]]:
        """Return the page of one graded notebook.

        Raises:
            CourseError: the notebook was not graded by this course's `nbgrader autograde`.
        """
        graded, resources = super().from_notebook_node(nb, resources, **kw)
        return self.page(graded, resources), resources

    def page(self, graded: NotebookNode, resources: dict[str, Any]) -> str:
        """Return the page of a notebook that has gone through the steps.

        Raises:
            CourseError: the notebook was not graded by this course's `nbgrader autograde`.
        """
        names = resources.get("nbgrader", {})
        data = graded.metadata.get(REPORT_KEY)
        if data is None:
            raise CourseError(
                f"The notebook of {names.get('student', 'this student')} holds no report; run `nbgrader autograde "
                f"{names.get('assignment', '')} --force` with the course's nbgrader_config.py, then this again."
            )
        return feedback_page(
            graded,
            Report.from_json(data),
            book_url=self.book_url,
            score=names.get("score"),
            max_score=names.get("max_score"),
            late_penalty=names.get("late_penalty", 0.0),
        )
