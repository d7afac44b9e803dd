"""Notebooks such as students hand in, for demonstrations and benchmarks: a lab's notebook with other text in its cells."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from nbformat import NotebookNode


def grade_id(cell: NotebookNode) -> str:
    """Return a cell's name, or nothing."""
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def is_answer(cell: NotebookNode) -> bool:
    """Tell whether students write in a cell."""
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def filled(notebook: NotebookNode, sources: Mapping[str, str | None]) -> NotebookNode:
    """Return a copy of a notebook with other text in the cells that are named; None takes a cell away."""
    made = copy.deepcopy(notebook)
    made.cells = [cell for cell in made.cells if sources.get(grade_id(cell), "") is not None]
    for cell in made.cells:
        cell.source = sources.get(grade_id(cell), cell.source)
    return made
