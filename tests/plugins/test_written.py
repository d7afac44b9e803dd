"""A notebook that is written cell by cell is the one that nbformat writes, letter by letter."""

from __future__ import annotations

import copy
import json
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode

from autograder.plugins.written import CELL_CHARS, indented, written
from tests.submissions import odd

PICTURE = "iVBORw0KGgo=\n"
OUTPUTS: list[dict[str, Any]] = [
    {"output_type": "stream", "name": "stdout", "text": "one\ntwo\n\nthree"},
    {"output_type": "stream", "name": "stderr", "text": ["one\n", "two"]},
    {"output_type": "error", "ename": "E", "evalue": "x", "traceback": ["\x1b[31mone\x1b[0m", "two\nthree"]},
    {
        "output_type": "display_data",
        "metadata": {"image/png": {"width": 1}},
        "data": {
            "text/plain": "a\nb",
            "image/png": PICTURE,
            "image/svg+xml": "<svg>\n</svg>",
            "application/json": {"a": [1]},
        },
    },
    {"output_type": "execute_result", "execution_count": 3, "metadata": {}, "data": {"text/plain": "0.5"}},
]


def with_outputs() -> odd.NotebookDict:
    made = odd.solved()
    odd.cell(made, "double")["outputs"] = copy.deepcopy(OUTPUTS)
    odd.cell(made, "double")["execution_count"] = 3
    return made


def with_cell(name: str, **fields: Any) -> odd.NotebookDict:
    made = odd.solved()
    odd.cell(made, name).update(fields)
    return made


def with_metadata(**fields: Any) -> odd.NotebookDict:
    made = odd.solved()
    made["metadata"].update(fields)
    return made


def older() -> odd.NotebookDict:
    made = odd.solved()
    made["nbformat_minor"] = 4
    for cell in made["cells"]:
        del cell["id"]
    return made


NOTEBOOKS = {
    "release": odd.release(),
    "solved": odd.solved(),
    "outputs": with_outputs(),
    "no cells": {**odd.release(), "cells": []},
    "other letters": with_cell("solve-double", source='s = "größer ☃ \\n \\" \u2028 ]"\r\n\tx\n'),
    "nothing": with_cell("solve-double", source=""),
    "brackets": with_metadata(cells=[], text='[] "cells": []', report={"[]": [{}, [], ""]}),
    "a picture": with_cell("why", attachments={"a.png": {"image/png": PICTURE, "text/plain": "a\nb"}}),
    "what is not kept": with_metadata(signature="x", orig_nbformat=3),
    "a long cell": with_cell("solve-double", source="x = 1\n" * CELL_CHARS),
    "trust": with_cell("double", metadata={"trusted": True, "tags": ["a"]}),
    "older, without names": older(),
}


def as_node(notebook: odd.NotebookDict) -> NotebookNode:
    made: NotebookNode = nbformat.from_dict(notebook)
    return made


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_text_is_nbformats(name: str) -> None:
    notebook = as_node(NOTEBOOKS[name])
    before = copy.deepcopy(notebook)
    assert written(notebook) == nbformat.writes(notebook) + "\n"
    assert notebook == before
    assert written(notebook) == nbformat.writes(notebook) + "\n"  # now that its cells are known


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("solve-double", {"source": odd.DOUBLE + " "}),
        ("solve-double", {"id": "solve-twice"}),
        ("double", {"execution_count": 1}),
        ("double", {"outputs": OUTPUTS[:1]}),
        ("why", {"cell_type": "raw"}),
        ("title", {"metadata": {"a": 1}}),
        ("title", {"metadata": {"a": 1.0}}),
        ("title", {"metadata": {"a": True}}),
        ("title", {"metadata": {"a": "1"}}),
    ],
)
def test_a_cell_is_never_taken_for_another(name: str, change: dict[str, Any]) -> None:
    """All of these follow each other in one process, as the students of a class do."""
    notebook = as_node(with_cell(name, **change))
    text = written(notebook)
    assert text == nbformat.writes(notebook) + "\n"
    assert text != written(as_node(odd.solved()))


@pytest.mark.parametrize(
    "wrong",
    [
        with_cell("double", outputs=[{"output_type": "stream", "text": "no name"}]),
        with_cell("double", cell_type="poem"),
        with_cell("title", id="a name with blanks"),
        with_metadata(kernelspec={"name": 3}),
        {**odd.release(), "cells": [{**odd.text("a", "b"), "metadata": None}]},
    ],
)
def test_a_notebook_that_others_would_not_read_is_not_written(wrong: odd.NotebookDict) -> None:
    for _ in range(2):  # and is not written the second time either
        with pytest.raises(nbformat.ValidationError):
            written(as_node(wrong))


def test_two_cells_of_one_name_are_written_as_nbformat_does() -> None:
    """It gives one of them another name, and says so."""
    notebook = odd.solved()
    notebook["cells"].append(copy.deepcopy(notebook["cells"][0]))
    with pytest.warns(nbformat.warnings.DuplicateCellId):
        text = written(as_node(notebook))
    found = nbformat.reads(text, as_version=4)
    assert len({cell.id for cell in found.cells}) == len(notebook["cells"])
    assert [cell.source for cell in found.cells] == [cell["source"] for cell in notebook["cells"]]


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        "",
        None,
        [[], {}, [{}]],
        {"b": [1, 2.5, -1e300, True, False, None], "a": {'é\n"\\': "☃\u2028\x00\x7f"}, "A": ((), ("x",))},
        [float("inf"), float("nan"), 10**30, 0, 0.0],
    ],
)
def test_json_is_indented_as_python_does_it(value: Any) -> None:
    assert indented(value) == json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, separators=(",", ": "))
