"""The cells of a lab as a gradebook finds them for whoever tells it of the lab: in memory, where nbgrader asks for each by name.

nbgrader's SaveCells asks for every cell of a notebook four times, and before each question writes what has changed; for a lab of
fifty cells that took longer than to make its release. Here a notebook is asked for once, and its cells with it. Only within
`knowing`, which is one transaction: who looks later may find another lab.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nbgrader.api import Gradebook, GradeCell, MissingEntry, Notebook, SolutionCell, SourceCell, TaskCell
from sqlalchemy import select


class KnownCells(Gradebook):  # type: ignore[misc]
    """A gradebook that remembers notebooks and their cells for a while."""

    _known: dict[tuple[str, str], Any] | None = None

    @contextmanager
    def knowing(self) -> Iterator[None]:
        """Remember what is found within."""
        self._known = {}
        try:
            yield
        finally:
            self._known = None

    def find_notebook(self, name: str, assignment: str) -> Notebook:
        """Return a lab's notebook."""
        if self._known is None:
            return super().find_notebook(name, assignment)
        if (name, assignment) not in self._known:
            try:
                found = self._known[name, assignment] = super().find_notebook(name, assignment)
            except MissingEntry:
                self._known[name, assignment] = None
            else:  # points and types lie in tables of their own, and would be asked for cell by cell
                whole = [cell for kind in (GradeCell, TaskCell) for cell in self._all(kind, found)]
                assert len(whole) <= len(found._base_cells)
        if self._known[name, assignment] is None:
            raise MissingEntry(f"No such notebook: {assignment}/{name}")
        return self._known[name, assignment]

    def add_notebook(self, name: str, assignment: str, **kwargs: Any) -> Notebook:
        """Return a new notebook of a lab."""
        self._forget_notebook(name, assignment)
        return super().add_notebook(name, assignment, **kwargs)

    def remove_notebook(self, name: str, assignment: str) -> None:
        """Remove a lab's notebook with its cells."""
        super().remove_notebook(name, assignment)
        self._forget_notebook(name, assignment)

    def _forget_notebook(self, name: str, assignment: str) -> None:
        if self._known is not None:
            self._known.pop((name, assignment), None)

    def find_grade_cell(self, name: str, notebook: str, assignment: str) -> GradeCell:
        """Return a cell that the machine or a person grades."""
        return self._cell(GradeCell, name, notebook, assignment) or super().find_grade_cell(name, notebook, assignment)

    def find_solution_cell(self, name: str, notebook: str, assignment: str) -> SolutionCell:
        """Return a cell that students fill."""
        return self._cell(SolutionCell, name, notebook, assignment) or super().find_solution_cell(
            name, notebook, assignment
        )

    def find_task_cell(self, name: str, notebook: str, assignment: str) -> TaskCell:
        """Return a task."""
        return self._cell(TaskCell, name, notebook, assignment) or super().find_task_cell(name, notebook, assignment)

    def find_source_cell(self, name: str, notebook: str, assignment: str) -> SourceCell:
        """Return what stands in a cell in the release."""
        return self._cell(SourceCell, name, notebook, assignment) or super().find_source_cell(
            name, notebook, assignment
        )

    def _all(self, kind: Any, notebook: Notebook) -> list[Any]:
        return list(self.db.scalars(select(kind).where(kind.notebook_id == notebook.id)))

    def _cell(self, kind: type, name: str, notebook: str, assignment: str) -> Any:
        """Return a cell, or None where nothing is remembered.

        Raises:
            MissingEntry: there is no such cell.
        """
        if self._known is None:
            return None
        found = self.find_notebook(notebook, assignment)
        for cell in found.source_cells if kind is SourceCell else found._base_cells:
            if cell.name == name and isinstance(cell, kind):
                return cell
        raise MissingEntry(f"No such cell: {assignment}/{notebook}/{name}")
