"""A graded notebook as text, the same that nbformat writes: checked and written cell by cell, and a cell that a class shares once.

Nine of ten cells of a graded notebook stand in many others of the class as well: the given texts, and test cells with the same
verdict. nbformat copies, checks and writes a whole notebook each time, which takes longer than anything else in recording it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import nbformat
from nbformat import NotebookNode, from_dict, v4

CELLS, CELL_CHARS = 512, 8_000  # how many are kept, and how long; a class shares no long ones
Version = tuple[int, int]

text_of: Callable[[NotebookNode], str] = v4.writes_json


def written(notebook: NotebookNode) -> str:
    """Return the text of a notebook, with its last line end.

    Raises:
        nbformat.ValidationError: other programs would not read it.
    """
    frame = node({**notebook, "cells": []})
    names = [cell.get("id") for cell in notebook.cells]
    if not names or None in names or len(set(names)) < len(names):  # nbformat gives names itself
        nbformat.validate(notebook, relax_add_props=True)
        return f"{text_of(notebook)}\n"
    nbformat.validate(frame, relax_add_props=True)
    version = notebook.nbformat, notebook.nbformat_minor
    cells = ",\n".join(_text(version, json.dumps(cell)) for cell in notebook.cells)
    before, after = text_of(frame).split("[]", 1)
    return f"{before}[\n{cells}\n ]{after}\n"


def node(given: Mapping[str, Any]) -> NotebookNode:
    """Return a part of a notebook; what is in it stays what it is."""
    made: NotebookNode = NotebookNode(given)  # type: ignore[no-untyped-call]
    return made


def _text(version: Version, cell: str) -> str:
    return _shared(version, cell) if len(cell) <= CELL_CHARS else _cell(version, cell)


@lru_cache(maxsize=CELLS)
def _shared(version: Version, cell: str) -> str:
    return _cell(version, cell)


def _cell(version: Version, cell: str) -> str:
    """Return the text of a cell, as it stands in that of a notebook which has no other."""
    alone = node({**_empty(version), "cells": [from_dict(json.loads(cell))]})  # type: ignore[no-untyped-call]
    nbformat.validate(alone, relax_add_props=True)
    before, after = _around(version)
    return text_of(alone).removeprefix(f"{before}[\n").removesuffix(f"\n ]{after}")


@lru_cache(maxsize=4)
def _around(version: Version) -> tuple[str, str]:
    before, after = text_of(_empty(version)).split("[]", 1)
    return before, after


def _empty(version: Version) -> NotebookNode:
    return node({"cells": [], "metadata": node({}), "nbformat": version[0], "nbformat_minor": version[1]})
