"""A graded notebook as text, the same that nbformat writes: checked and written cell by cell, and a cell that a class shares once.

Nine of ten cells of a graded notebook stand in many others of the class as well: the given texts, and test cells with the same
verdict. nbformat copies, checks and writes a whole notebook each time, which takes longer than anything else in recording it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import rwbase

CELLS, CELL_CHARS = 512, 8_000  # how many are kept, and how long; a class shares no long ones
Version = tuple[int, int]

quoted = json.JSONEncoder(ensure_ascii=False).encode


def written(notebook: NotebookNode) -> str:
    """Return the text of a notebook, with its last line end.

    Raises:
        nbformat.ValidationError: other programs would not read it.
    """
    frame = node({**notebook, "cells": [], "metadata": node({**notebook.metadata})})
    names = [cell.get("id") for cell in notebook.cells]
    if not names or None in names or len(set(names)) < len(names):  # nbformat gives names itself
        nbformat.validate(notebook, relax_add_props=True)
        return f"{nbformat.v4.writes_json(notebook)}\n"  # type: ignore[no-untyped-call]
    nbformat.validate(frame, relax_add_props=True)
    version = notebook.nbformat, notebook.nbformat_minor
    cells = ",\n  ".join(_text(version, cell) for cell in notebook.cells)
    before, after = indented(_kept(frame)).split("[]", 1)
    return f"{before}[\n  {cells}\n ]{after}\n"


def node(given: Mapping[str, Any]) -> NotebookNode:
    """Return a part of a notebook; what is in it stays what it is."""
    made: NotebookNode = NotebookNode(given)  # type: ignore[no-untyped-call]
    return made


def _text(version: Version, cell: NotebookNode) -> str:
    """Return the text of a cell, as it stands in that of a notebook."""
    rest = {**cell}
    source = rest.pop("source", None)
    if not isinstance(source, str):
        rest, source = {**cell}, None
    known = json.dumps(rest)
    is_short = len(known) + len(source or "") <= CELL_CHARS
    return _shared(version, source, known) if is_short else _written(version, source, known)


@lru_cache(maxsize=CELLS)
def _shared(version: Version, source: str | None, rest: str) -> str:
    return _written(version, source, rest)


def _written(version: Version, source: str | None, rest: str) -> str:
    cell = json.loads(rest, object_hook=node)
    if source is not None:
        cell["source"] = source
    alone = node({"cells": [cell], "metadata": node({}), "nbformat": version[0], "nbformat_minor": version[1]})
    nbformat.validate(alone, relax_add_props=True)
    return indented(_kept(alone).cells[0], 2)


def _kept(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook as it goes into a file, changed in place: texts as lines, and nothing that is of the moment."""
    kept: NotebookNode = rwbase.strip_transient(rwbase.split_lines(notebook))  # type: ignore[no-untyped-call]
    return kept


def indented(value: Any, depth: int = 0) -> str:
    """Return JSON as `json.dumps` writes it with sorted keys and an indent of one, which it does in Python, and four times as long.

    `depth` is how far the first line's own is indented.
    """
    if isinstance(value, str):
        return quoted(value)
    if value is None:
        return "null"
    if not value or not isinstance(value, dict | list | tuple):
        return json.dumps(value)
    margin = " " * depth
    if isinstance(value, dict):
        opens, closes = "{}"
        parts = [f"{quoted(key)}: {indented(value[key], depth + 1)}" for key in sorted(value)]
    else:
        opens, closes = "[]"
        parts = [indented(part, depth + 1) for part in value]
    between = f",\n {margin}"
    return f"{opens}\n {margin}{between.join(parts)}\n{margin}{closes}"
