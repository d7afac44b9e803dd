"""A small lab and the odd notebooks people hand in for it: builders, no tests.

The lab has two exercises of one function each and one written answer, in the form in which nbgrader releases it.
Every builder returns a fresh notebook as plain dictionaries, the way it stands in a file.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
NotebookDict = dict[str, Any]
CellDict = dict[str, Any]

DOUBLE = "def double(x):\n    return 2 * x\n"
TRIPLE = "def triple(x):\n    return 3 * x\n"
STUB = "def {name}(x):\n    raise NotImplementedError('{name} is not written yet')\n"
ANSWER_STUB = "YOUR ANSWER HERE"


def code(name: str | None, source: str, **tags: Any) -> CellDict:
    """A code cell; `tags` are nbgrader's, a cell without tags has no nbgrader metadata."""
    cell: CellDict = {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": None}
    return _named(cell, name, tags)


def text(name: str | None, source: str, **tags: Any) -> CellDict:
    """A markdown cell."""
    return _named({"cell_type": "markdown", "metadata": {}, "source": source}, name, tags)


def _named(cell: CellDict, name: str | None, tags: dict[str, Any]) -> CellDict:
    if name is not None:
        cell["id"] = name
    if tags:
        defaults = {"grade": False, "solution": False, "locked": False, "task": False, "schema_version": 3}
        cell["metadata"]["nbgrader"] = {"grade_id": name} | defaults | tags
    return cell


def release() -> NotebookDict:
    """The lab as students get it."""
    check = {"grade": True, "locked": True}
    cells = [
        text("title", "# Two functions"),
        code("setup", "import math\n", locked=True),
        text("task-double", "Write `double`.", locked=True),
        code("solve-double", STUB.format(name="double"), solution=True),
        code("double", 'check("double")', points=2, **check),
        text("task-triple", "Write `triple`, with the help of `double` if you like.", locked=True),
        code("solve-triple", STUB.format(name="triple"), solution=True),
        code("triple", 'check("triple")', points=3, **check),
        text("task-why", "Why?", locked=True),
        text("why", ANSWER_STUB, grade=True, solution=True, points=4),
    ]
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernelspec}, "cells": cells}


def instructors() -> NotebookDict:
    """The lab as its author writes it, from which nbgrader makes the release."""
    notebook = release()
    for name, source in (("solve-double", DOUBLE), ("solve-triple", TRIPLE)):
        body = source.splitlines(keepends=True)
        marked = [body[0], "    ### BEGIN SOLUTION\n", *body[1:], "    ### END SOLUTION\n"]
        cell(notebook, name)["source"] = "".join(marked)
    cell(notebook, "why")["source"] = "### BEGIN SOLUTION\nBecause it is linear.\n### END SOLUTION"
    return notebook


def solved(double: str = DOUBLE, triple: str = TRIPLE, why: str = "Because it is linear.") -> NotebookDict:
    """The lab, done."""
    notebook = release()
    for name, source in (("solve-double", double), ("solve-triple", triple), ("why", why)):
        cell(notebook, name)["source"] = source
    return notebook


def cell(notebook: NotebookDict, name: str) -> CellDict:
    """The first cell of that id."""
    found: CellDict = next(cell for cell in notebook["cells"] if cell.get("id") == name)
    return found


def place(notebook: NotebookDict, name: str) -> int:
    """Where the first cell of that id stands."""
    return int(notebook["cells"].index(cell(notebook, name)))


def put_behind(notebook: NotebookDict, name: str, *cells: CellDict) -> NotebookDict:
    """Insert cells behind the one of that id."""
    at = place(notebook, name) + 1
    notebook["cells"][at:at] = cells
    return notebook


def moved(notebook: NotebookDict, name: str, to: int) -> NotebookDict:
    """Take a cell away and insert it at another place."""
    notebook["cells"].insert(to, notebook["cells"].pop(place(notebook, name)))
    return notebook


def without(notebook: NotebookDict, *names: str) -> NotebookDict:
    """Delete cells."""
    notebook["cells"] = [cell for cell in notebook["cells"] if cell.get("id") not in names]
    return notebook


def copied(notebook: NotebookDict, name: str, source: str | None = None, new_id: str = "c0ffee") -> CellDict:
    """A copy of a cell as Jupyter pastes it: all metadata kept, a new id."""
    twin = copy.deepcopy(cell(notebook, name)) | {"id": new_id}
    return twin if source is None else twin | {"source": source}


def stripped(notebook: NotebookDict) -> NotebookDict:
    """What a converter leaves: no ids, no metadata."""
    for each in notebook["cells"]:
        each.pop("id", None)
        each["metadata"] = {}
    notebook["metadata"] = {}
    return notebook | {"nbformat_minor": 2}


def as_bytes(notebook: Any) -> bytes:
    """The file."""
    return json.dumps(notebook, indent=1).encode()


def real_file(name: str) -> bytes:
    """A file that lies in this folder."""
    return (FOLDER / name).read_bytes()
