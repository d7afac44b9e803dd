"""The first half of `nbgrader autograde`: a submitted file is read as hostile bytes and grafted onto our release.

nbgrader reads a submission with nbformat and then tries to repair it. Here the exporter, the one object that opens
the file, puts our release notebook with the student's code in its place, so that nbgrader's own steps (DeduplicateIds,
OverwriteCells, CheckCellMetadata) only ever see our cells, and a file that cannot be read costs its student the
points and nobody else anything. Why it could not be read is said by `execute`, which grades.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode

from autograder.errors import CourseError
from autograder.grading.submission import UnreadableSubmission, graft, read_file, read_notebook

NO_CELLS = b'{"nbformat": 4, "cells": []}'


class SubmissionExporter(NotebookExporter):
    """Reads from submitted/ by grafting, and from autograded/ as any exporter does."""

    def from_filename(  # type: ignore[override]  # nbconvert's own NotebookExporter returns the text, too
        self, filename: str, resources: dict[str, Any] | None = None, **kw: Any
    ) -> tuple[str, dict[str, Any]]:
        """Convert one notebook; `Autograde` calls it twice, first for what was submitted."""
        converter: Any = self.parent
        exported: Any
        if not getattr(converter, "_sanitizing", False):
            exported = super().from_filename(filename, resources=resources, **kw)
            return exported  # type: ignore[no-any-return]
        path = Path(filename)
        resources = {} if resources is None else resources
        resources["metadata"] = {"name": path.stem, "path": str(path.parent)}
        release = read_release(converter.coursedir, resources["nbgrader"]["assignment"], path.name)
        try:
            submitted = read_notebook(read_file(path))
        except UnreadableSubmission as reason:
            self.log.warning("%s: %s", filename, reason)
            submitted = read_notebook(NO_CELLS)
        exported = self.from_notebook_node(graft(release, submitted).notebook, resources, **kw)  # type: ignore[no-untyped-call]
        return exported  # type: ignore[no-any-return]


def read_release(coursedir: Any, assignment: str, name: str) -> NotebookNode:
    """Return the notebook that students were given.

    Raises:
        CourseError: there is none under that name.
    """
    path = Path(coursedir.format_path(coursedir.release_directory, ".", assignment)) / name
    try:
        release: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise CourseError(
            f"The released notebook {path} cannot be read ({error}); run `nbgrader generate_assignment {assignment}`."
        ) from error
    return release
