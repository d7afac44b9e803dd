"""Read the file a student handed in, whatever it turns out to be.

The bytes are hostile: they come from a person with a reason to hope that the grader falls over. What leaves
this module is a small notebook built anew from strings (cell type, source, id, grade id, pasted pictures);
nothing else of the file survives. A file in which no cells can be found is an `UnreadableSubmission`, whose
message is a sentence for the student. Odd but honest files (Colab's, UTF-16, sources as lists, cells without
ids, null metadata) are read without a word.

This module does not know what the notebook should contain: that is `submission.graft`.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.errors import CourseError

if TYPE_CHECKING:
    from nbformat import NotebookNode

MAX_FILE_BYTES = 50_000_000
MAX_SOURCE_CHARS = 2_000_000
MAX_CELLS = 2_000
MAX_PICTURE_BYTES = 5_000_000
# JSON of 50 MB can ask for gigabytes of empty lists; figures and printed tensors stay far below these counts.
MAX_BRACKETS = 1_000_000
MAX_COMMAS = 6_000_000

PLAIN = frozenset((str, int, float, bool, type(None)))  # what holds nothing else
CELL_TYPES = ("code", "markdown", "raw")
PICTURE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class UnreadableSubmission(Exception):
    """The file cannot be graded; the message says why, and what to do, in words for the student."""


def notebook_in(folder: Path, name: str) -> Path:
    """Return the path of the notebook `name` in a submitted folder, or of the only notebook there is.

    Browsers and copies rename files: "lab01 (1).ipynb" is handed in as often as not. Where nothing fits, the path
    has the right name and no file, which `read_file` explains.
    """
    named = folder / f"{name}.ipynb"
    others = sorted(path for path in folder.glob("*.ipynb") if path.is_file() and not path.is_symlink())
    return others[0] if len(others) == 1 and not os.path.lexists(named) else named


def read_file(path: Path) -> bytes:
    """Return the bytes of a submitted file, never following a link.

    At most 50 MB and one byte are read, so that `read_notebook` sees that it is too large.

    Raises:
        UnreadableSubmission: the file is missing, or is a link, a pipe or a folder.
        CourseError: the file is there and the grader may not read it; that is not the student's fault.
    """
    # A link could name the solution; a pipe would make the grader wait for ever. The second look, with the file
    # open, is the one that counts.
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UnreadableSubmission(f"The file {path.name} is a link or a folder; hand in the notebook itself.")
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UnreadableSubmission(f"The file {path.name} is no file of its own; hand in the notebook.")
            return file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise UnreadableSubmission(
            f"The notebook {path.name} was not handed in; hand in the file under exactly this name."
        ) from None
    except OSError as error:
        raise CourseError(
            f"The submitted file {path} cannot be read ({error.strerror}); look at its permissions, then grade again."
        ) from error


def read_notebook(raw: bytes) -> NotebookNode:
    """Build a clean notebook (format 4.5) from the bytes of a submission.

    Every cell has `cell_type`, `source` and `metadata`; the metadata holds at most
    `{"nbgrader": {"grade_id": str}}`; `id` is there only where the file had one.

    Raises:
        UnreadableSubmission: too large, empty, no JSON, no cells, or a notebook format this course cannot read.
    """
    document = _parse(raw)
    if not isinstance(document, dict):
        raise UnreadableSubmission(
            f"The file holds a JSON {type(document).__name__}, not a notebook; hand in the .ipynb file itself."
        )
    _check_format(document)
    cells = document.get("cells")
    if not isinstance(cells, list):
        raise UnreadableSubmission("The file is JSON but has no list of cells; hand in the .ipynb file itself.")
    if len(cells) > MAX_CELLS:
        raise UnreadableSubmission(
            f"The notebook has {len(cells)} cells, more than the {MAX_CELLS} that are read; delete what is not needed."
        )
    clean = [_clean_cell(cell) for cell in cells if isinstance(cell, dict)]
    length = sum(len(cell["source"]) for cell in clean)
    if length > MAX_SOURCE_CHARS:
        raise UnreadableSubmission(
            f"The cells hold {length:,} characters of text, more than the {MAX_SOURCE_CHARS:,} that are graded; "
            "remove pasted data and hand in again."
        )
    return node({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": clean})


def node(fields: dict[str, Any]) -> NotebookNode:
    """Turn plain dictionaries into the type that nbformat, nbconvert and nbgrader pass around."""
    from nbformat import NotebookNode  # who only reads the bytes, to hand them to a worker, does not wait for it

    return _node(fields, NotebookNode)


def _node(fields: dict[str, Any], kind: type[NotebookNode]) -> NotebookNode:
    """Do as `nbformat.from_dict`, which asks each word and number what it is."""
    return kind({key: value if type(value) in PLAIN else _part(value, kind) for key, value in fields.items()})


def _part(given: Any, kind: type[NotebookNode]) -> Any:
    if isinstance(given, dict):
        return _node(given, kind)
    return [_part(part, kind) for part in given] if isinstance(given, list | tuple) else given


def _parse(raw: bytes) -> Any:
    if len(raw) > MAX_FILE_BYTES:
        raise UnreadableSubmission(
            "The file is larger than 50 MB; clear the outputs of all cells, save and hand in again."
        )
    if not raw.strip(b" \t\r\n\0"):
        raise UnreadableSubmission("The file is empty; save the notebook and hand it in again.")
    if raw.count(b"[") + raw.count(b"{") > MAX_BRACKETS or raw.count(b",") > MAX_COMMAS:
        raise UnreadableSubmission(
            "The file holds millions of nested values, as no notebook does; clear the outputs, save and hand in again."
        )
    encoding = next((name for mark, name in BYTE_ORDER_MARKS if raw.startswith(mark)), "utf-8")
    # A stray byte in a comment must not cost the whole lab, so it becomes a question mark.
    text = raw.decode(encoding, errors="replace")
    try:
        return json.loads(text)
    except RecursionError:
        raise UnreadableSubmission(
            "The file is nested deeper than any notebook; hand in the .ipynb file as Jupyter saved it."
        ) from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        # At the very end half a word may be left, of `false` or of \\u00e9.
        if error.pos >= len(text.rstrip()) - 6 or error.msg.startswith("Unterminated string"):
            raise UnreadableSubmission(
                f"The file ends in the middle of a notebook ({where}), as after a broken upload; "
                "open it in Jupyter, save it and hand it in again."
            ) from None
        raise UnreadableSubmission(
            f"The file is not a notebook: it stops being JSON at {where}; hand in the .ipynb file as Jupyter saved it."
        ) from None
    except ValueError:  # an integer of thousands of digits
        raise UnreadableSubmission(
            "The file holds a number that cannot be read; hand in the .ipynb file as Jupyter saved it."
        ) from None


def _check_format(document: dict[str, Any]) -> None:
    version = document.get("nbformat", 4)  # some tools drop it; the list of cells says enough
    if version == 4:
        return
    if version in (1, 2, 3):
        raise UnreadableSubmission(
            f"The notebook is in the old format {version}; open it in a current Jupyter, save it and hand it in again."
        )
    raise UnreadableSubmission(
        f"The notebook says it is in format {str(version)[:20]!r}, and this course reads format 4; "
        "save it with a current Jupyter and hand it in again."
    )


def _clean_cell(cell: dict[str, Any]) -> dict[str, Any]:
    cell_type = cell.get("cell_type")
    if cell_type not in CELL_TYPES:
        cell_type = "raw"
    clean: dict[str, Any] = {"cell_type": cell_type, "source": _text(cell.get("source")), "metadata": {}}
    if isinstance(cell.get("id"), str):
        clean["id"] = _text(cell["id"])
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    if isinstance(nbgrader, dict) and isinstance(nbgrader.get("grade_id"), str):
        clean["metadata"] = {"nbgrader": {"grade_id": _text(nbgrader["grade_id"])}}
    pictures = _pictures(cell.get("attachments"))
    return clean | {"attachments": pictures} if pictures else clean


def _text(source: Any) -> str:
    """Join a notebook's source (a string or a list of strings) and drop what UTF-8 cannot carry."""
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    if not isinstance(source, str):
        return ""
    # "\ud800" is legal JSON and no legal text; NUL cannot be compiled, and databases cut there.
    return (source if source.isascii() else source.encode("utf-8", "replace").decode("utf-8")).replace("\0", "")


def _pictures(attachments: Any) -> dict[str, dict[str, str]]:
    """Keep pictures pasted into a text cell (a photographed derivation is an honest answer)."""
    kept: dict[str, dict[str, str]] = {}
    if not isinstance(attachments, dict):
        return kept
    room = MAX_PICTURE_BYTES
    for name, bundle in attachments.items():
        for mime, data in bundle.items() if isinstance(bundle, dict) else ():
            encoded = "".join(_text(data).split())
            if mime not in PICTURE_TYPES or len(encoded) > room:
                continue
            try:
                base64.b64decode(encoded, validate=True)
            except (binascii.Error, ValueError):
                continue
            room -= len(encoded)
            kept[_text(name)] = {mime: encoded}
    return kept
