"""Notebooks of labs, run in a kernel once each, however many tests look at them.

Not a test. One thread for torch: the labs' tensors are small, and the tests of one lab should not take the whole machine.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from autograder.authoring.release import instructor_notebook

ROOT = Path(__file__).resolve().parents[2]
MOST_S = 600  # for one cell; a guard against a hang, no promise
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def released(name: str) -> NotebookNode:
    """The notebook that students get."""
    return nbformat.read(ROOT / "labs" / name / f"{name}.ipynb", 4)


@cache
def solved(name: str) -> NotebookNode:
    """The author's notebook, run from top to bottom as a student would; about half a minute of work for a lab."""
    return run(nbformat.reads(instructor_notebook(ROOT, name), 4))


@cache
def untouched(name: str) -> NotebookNode:
    """The released notebook, run from top to bottom with nothing written into it."""
    return run(released(name))


def run(notebook: NotebookNode, **variables: str) -> NotebookNode:
    """Run every cell, those after a failed one too."""
    client = NotebookClient(notebook, timeout=MOST_S, kernel_name="python3", allow_errors=True)
    client.execute(env={**os.environ, "OMP_NUM_THREADS": "1", **variables})
    return notebook


def text(notebook: NotebookNode) -> str:
    """All of a notebook's Markdown."""
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def cell(notebook: NotebookNode, name: str) -> NotebookNode:
    """The cell of that grade id."""
    return next(c for c in notebook.cells if c.id == name)


def printed(given: NotebookNode) -> str:
    """What a cell printed or displayed as text, without colours."""
    parts = [o.text if o.output_type == "stream" else o.get("data", {}).get("text/plain", "") for o in given.outputs]
    return COLOURS.sub("", "".join(parts))


def error(given: NotebookNode) -> tuple[str, str, str] | None:
    """The error that a cell ended with: its type, its message, its traceback as a student sees it, without colours."""
    for output in given.outputs:
        if output.output_type == "error":
            return output.ename, output.evalue, COLOURS.sub("", "\n".join(output.traceback))
    return None
