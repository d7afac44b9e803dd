"""The second half of `nbgrader autograde`: grade the submitted bytes with our grader, and hand nbgrader the scores.

nbgrader reads a score from whatever a test cell printed. This Execute never lets a student's process print there:
`grade_notebook` runs the student's code in the sandbox, decides outside, and writes one scoring output per graded
cell - none (full marks), one float (some) or an error (zero). What the scorer will read is compared with the report
before it can reach the gradebook.

The whole report is kept in the notebook's metadata, for the feedback page. nbclient, which the parent class is made
of, is not used.
"""

from __future__ import annotations

import secrets
from functools import lru_cache
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import Execute as NbgraderExecute
from traitlets import Bool, Dict, Integer

from autograder.errors import CourseError
from autograder.grading.course import CourseLab, load_course_lab
from autograder.grading.grade import grade_notebook
from autograder.grading.judge import Judge
from autograder.grading.report import Graded
from autograder.grading.submission import UnreadableSubmission, read_file
from autograder.plugins.handover import handed_over
from autograder.sandbox.policy import Limits


class Execute(NbgraderExecute):  # type: ignore[misc]
    """Listed in `c.Autograde.autograde_preprocessors` in the place of nbgrader's own."""

    seed = Integer(help="The seed of the scenarios; drawn anew for each run unless it is set.").tag(config=True)
    sandboxed = Bool(True, help="Whether student code runs in the sandbox. Without it, every report says so.").tag(
        config=True
    )
    limits = Dict(help="Limits other than the usual ones, by the names of autograder.sandbox.policy.Limits.").tag(
        config=True
    )

    def _seed_default(self) -> int:
        return secrets.randbelow(1 << 31)

    def __call__(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        """Refuse `--no-execute`: a graded cell without outputs is full marks to nbgrader, for everyone."""
        if not self.enabled:
            raise CourseError(
                "nbgrader autograde was told not to execute, which would give every submission full marks; "
                "run it without --no-execute."
            )
        return self.preprocess(nb, resources)

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any], km: Any = None
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Return the graded notebook in the place of the sanitized one."""
        coursedir = self.parent.parent.coursedir
        names = resources["nbgrader"]
        submitted = coursedir.format_path(coursedir.submitted_directory, names["student"], names["assignment"])
        lab, judge = _bench(Path(coursedir.root), names["assignment"], self.seed)
        graded = self.grade(Path(submitted) / f"{names['notebook']}.ipynb", lab, judge, names["student"])
        for note in graded.report.notes:
            self.log.warning("%s, %s: %s", names["student"], names["notebook"], note)
        return handed_over(graded.notebook, graded.report), resources

    def grade(self, path: Path, lab: CourseLab, judge: Judge, student: str) -> Graded:
        """Grade the file as it was submitted; it is read again, because what nbgrader copied is no longer it."""
        try:
            raw: bytes | UnreadableSubmission = read_file(path)
        except UnreadableSubmission as reason:
            raw = reason
        limits = Limits(**self.limits)
        return grade_notebook(
            raw, lab, seed=self.seed, limits=limits, sandboxed=self.sandboxed, student=student, judge=judge
        )


@lru_cache(maxsize=8)
def _bench(course: Path, lab: str, seed: int) -> tuple[CourseLab, Judge]:
    """What a whole class shares; nbgrader makes a new Execute for every notebook."""
    loaded = load_course_lab(course, lab)
    return loaded, Judge(loaded.lab, seed)
