"""The writer's steps take and refuse what nbgrader's own do."""

from __future__ import annotations

import copy
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbgrader.preprocessors import CheckCellMetadata

from autograder.plugins.steps import CheckedCells
from tests.submissions import odd


def tagged(name: str, **tags: Any) -> NotebookNode:
    """The release, in which one cell has other tags; None takes one away."""
    made = odd.release()
    own = odd.cell(made, name)["metadata"]["nbgrader"]
    own.update(tags)
    for key in [key for key, value in own.items() if value is None]:
        del own[key]
    found: NotebookNode = nbformat.from_dict(made)
    return found


def refused(step: type[CheckCellMetadata], notebook: NotebookNode) -> tuple[type, str] | None:
    try:
        step().preprocess(copy.deepcopy(notebook), {})
    except Exception as error:
        return type(error), str(error)
    return None


@pytest.mark.parametrize(
    "notebook",
    [
        tagged("double", points=-1),
        tagged("double", points="2"),
        tagged("double", points=None),
        tagged("double", grade="yes"),
        tagged("double", grade_id="two words"),
        tagged("double", grade_id=""),
        tagged("double", grade_id=None),
        tagged("double", grade_id="triple"),
        tagged("double", locked=None),
        tagged("double", schema_version=2),
        tagged("double", schema_version=4),
        tagged("double", schema_version=None),
        tagged("double", checksum=7),
        tagged("double", mine=True),
        tagged("why", grade=False),
        tagged("why", solution=False),
        tagged("double", task=True),
    ],
)
def test_tags_that_nbgrader_refuses_are_refused_in_its_words(notebook: NotebookNode) -> None:
    told = refused(CheckCellMetadata, notebook)
    assert told is not None
    for _ in range(2):  # what was refused is not taken the second time
        assert refused(CheckedCells, notebook) == told


@pytest.mark.parametrize(
    "notebook",
    [tagged("double"), tagged("double", points=0.5), tagged("double", checksum="0f" * 16), tagged("why", points=0)],
)
def test_tags_that_nbgrader_takes_are_taken(notebook: NotebookNode) -> None:
    assert refused(CheckCellMetadata, notebook) is None
    assert refused(CheckedCells, notebook) is None
