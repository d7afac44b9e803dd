"""Any bytes at all become either a clean notebook or one plain sentence for the student."""

from __future__ import annotations

import base64
import copy
import json
import os
from pathlib import Path

import pytest
from nbformat import from_dict

from autograder.grading.reading import MAX_CELLS, MAX_FILE_BYTES, UnreadableSubmission, node, read_file, read_notebook
from tests.submissions import odd

PNG = base64.b64encode(b"\x89PNG not really").decode()


def sources(raw: bytes) -> list[str]:
    return [cell.source for cell in read_notebook(raw).cells]


@pytest.mark.parametrize("name", ["colab.ipynb", "utf16.ipynb", "nulls.ipynb"])
def test_an_odd_but_honest_file_is_read_in_full(name: str) -> None:
    """Colab, a Windows editor and a careless tool all save notebooks that count."""
    cells = read_notebook(odd.real_file(name)).cells
    assert [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in cells].count("solve-double") == 1
    assert odd.DOUBLE in [cell.source for cell in cells]


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: raw.decode().encode("utf-16"),
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: b"\n\n" + raw + b"\n\n",
    ],
    ids=["utf-8 mark", "utf-16", "windows line ends", "blank lines around"],
)
def test_the_encoding_of_the_file_does_not_matter(change) -> None:
    assert sources(change(odd.as_bytes(odd.solved()))) == sources(odd.as_bytes(odd.solved()))


def test_one_byte_of_another_encoding_costs_nothing() -> None:
    """A Latin-1 letter in a comment must not cost the lab."""
    raw = odd.as_bytes(odd.solved(double="# QQ\n" + odd.DOUBLE)).replace(b"QQ", b"gr\xf6sser")
    assert odd.DOUBLE in "".join(sources(raw))


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (odd.real_file("truncated.ipynb"), "ends in the middle"),
        (odd.as_bytes(odd.solved())[:-2], "ends in the middle"),
        (b"<!DOCTYPE html><html><body>Sign in</body></html>", "is not a notebook"),
        (b"PK\x03\x04\x14\x00\x00\x00", "is not a notebook"),
        (b"def double(x):\n    return 2 * x\n", "is not a notebook"),
        (b"[1, 2, 3]", "JSON list"),
        (b'"a string"', "JSON str"),
        (b"null", "JSON NoneType"),
        (b"{}", "no list of cells"),
        (b'{"nbformat": 4, "cells": {"0": {}}}', "no list of cells"),
        (b'{"nbformat": 4, "cells": null}', "no list of cells"),
        (odd.real_file("format3.ipynb"), "old format 3"),
        (odd.as_bytes({"nbformat": 2, "worksheets": []}), "old format 2"),
        (odd.as_bytes(odd.solved() | {"nbformat": 5}), "format '5'"),
        (odd.as_bytes(odd.solved() | {"nbformat": {"a": 1}}), "reads format 4"),
        (b'{"cells": ' + b"[" * 200_000, "nested deeper"),
        (b'{"cells": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested deeper"),
        (b'{"cells": [' + b"[]," * 1_100_000 + b"[]]}", "millions of nested values"),
        (b'{"nbformat": ' + b"9" * 5000 + b', "cells": []}', "number that cannot be read"),
        (odd.as_bytes({"nbformat": 4, "cells": [odd.code(None, "1")] * (MAX_CELLS + 1)}), "cells, more than"),
        (odd.as_bytes({"nbformat": 4, "cells": [odd.code(None, "x" * 2_000_001)]}), "characters of text"),
        (b" " * MAX_FILE_BYTES + b"{}", "larger than 50 MB"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_file_that_cannot_be_graded_gets_one_plain_sentence(raw: bytes, words: str) -> None:
    with pytest.raises(UnreadableSubmission) as caught:
        read_notebook(raw)
    sentence = str(caught.value)
    assert words in sentence
    assert len(sentence) < 250
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_odd_cells_are_read_as_far_as_they_go() -> None:
    """Sources as lists, as null, as numbers; cells that are no cells; metadata of every type."""
    cells = [
        {"cell_type": "code", "source": ["a = 1\n", None, "b = 2"], "metadata": None},
        {"cell_type": "code", "source": None, "metadata": []},
        {"cell_type": "code", "metadata": {"nbgrader": "solve-double"}},
        {"cell_type": "code", "source": 7, "metadata": {"nbgrader": {"grade_id": ["solve-double"]}}, "id": 12},
        {"cell_type": "heading", "source": "# Old", "metadata": {}},
        {"source": "no type"},
        "not a cell",
        None,
        ["cell"],
    ]
    notebook = read_notebook(odd.as_bytes({"cells": cells}))
    assert [cell.source for cell in notebook.cells] == ["a = 1\nb = 2", "", "", "", "# Old", "no type"]
    assert [cell.cell_type for cell in notebook.cells] == ["code"] * 4 + ["raw"] * 2
    assert all(cell.metadata == {} and "id" not in cell for cell in notebook.cells)


def test_text_that_no_file_and_no_compiler_can_hold_is_mended() -> None:
    """A lone surrogate is legal JSON and breaks every later write; NUL breaks the compiler."""
    raw = rb'{"cells": [{"cell_type": "code", "source": "x = \"\ud800\u0000\"", "id": "\udfff"}]}'
    cell = read_notebook(raw).cells[0]
    assert cell.source.encode() == b'x = "?"'
    assert cell.id == "?"


def test_nothing_but_text_and_names_survives() -> None:
    """Outputs, tags, points and notebook metadata are the student's word, and not taken."""
    notebook = odd.solved()
    cell = odd.cell(notebook, "double")
    cell["metadata"] |= {"tags": ["skip-execution"], "trusted": True, "deletable": False}
    cell["metadata"]["nbgrader"]["points"] = 1000
    cell["outputs"] = [{"output_type": "execute_result", "data": {"text/plain": "1000"}}]
    read = read_notebook(odd.as_bytes(notebook))
    assert all(set(cell) <= {"cell_type", "source", "metadata", "id"} for cell in read.cells)
    assert all(set(cell.metadata) <= {"nbgrader"} for cell in read.cells)
    assert all(set(cell.metadata.get("nbgrader", {})) <= {"grade_id"} for cell in read.cells)
    assert read.metadata == {}


def test_a_pasted_picture_is_kept_and_nothing_else_is_called_one() -> None:
    notebook = odd.solved()
    odd.cell(notebook, "why")["attachments"] = {
        "page.png": {"image/png": PNG},
        "evil.svg": {"image/svg+xml": "<svg onload='alert(1)'/>"},
        "odd.png": {"image/png": '"><script>alert(1)</script>'},
        "list.png": ["image/png"],
    }
    read = read_notebook(odd.as_bytes(notebook))
    assert read.cells[-1].attachments == {"page.png": {"image/png": PNG}}


def test_what_is_read_is_never_deeper_than_nbformat_can_copy() -> None:
    """Metadata nested to just under the parser's limit do not reach the copiers that recurse."""
    deep = "[" * 400 + "]" * 400
    raw = odd.as_bytes(odd.solved()).replace(b'"metadata": {}', b'"metadata": {"deep": ' + deep.encode() + b"}")
    assert deep.encode() in raw
    read = read_notebook(raw)
    assert "[[" not in json.dumps(read.cells)
    assert copy.deepcopy(read) == read


def test_a_node_is_what_nbformat_makes_of_it() -> None:
    """At any depth, and no part of it is the given one."""
    given = odd.solved() | {"more": ({"a": [1, None, True, 2.5, "x", [{"b": {}}]]}, [])}
    made, due = node(given), from_dict(given)  # type: ignore[no-untyped-call]

    def kinds(part: object) -> object:
        if isinstance(part, dict):
            return type(part), {key: kinds(value) for key, value in part.items()}
        return type(part), [kinds(value) for value in part] if isinstance(part, list) else part

    assert kinds(made) == kinds(due)
    made["more"][0]["a"].append(1)
    made["cells"][0]["source"] = "other"
    assert kinds(node(given)) == kinds(due)


def test_a_link_a_pipe_and_a_folder_are_not_read(tmp_path: Path) -> None:
    """A link could name the solution; a pipe would hang the grader for ever."""
    secret = tmp_path / "solution.ipynb"
    secret.write_bytes(odd.as_bytes(odd.solved()))
    link, pipe, folder = tmp_path / "link.ipynb", tmp_path / "pipe.ipynb", tmp_path / "folder.ipynb"
    link.symlink_to(secret)
    os.mkfifo(pipe)
    folder.mkdir()
    for path, words in ((link, "link"), (pipe, "is a link or a folder"), (folder, "is a link or a folder")):
        with pytest.raises(UnreadableSubmission, match=words):
            read_file(path)
    with pytest.raises(UnreadableSubmission, match="was not handed in"):
        read_file(tmp_path / "nothing.ipynb")
    assert json.loads(read_file(secret)) == odd.solved()
