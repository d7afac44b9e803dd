"""A filled notebook has other text in the cells that are named, and nothing else is changed; the original is left alone."""

from __future__ import annotations

import pytest
from nbformat import NotebookNode, from_dict

from autograder.authoring.filling import filled, grade_id, is_answer


def notebook() -> NotebookNode:
    """A given cell, an answer, and one that nobody named."""
    return from_dict(
        {
            "cells": [
                {"source": "given", "metadata": {"nbgrader": {"grade_id": "given", "solution": False}}},
                {"source": "stub", "metadata": {"nbgrader": {"grade_id": "answer", "solution": True}}},
                {"source": "# title", "metadata": {}},
            ]
        }
    )


@pytest.mark.parametrize(
    ("sources", "texts"),
    [
        ({}, ["given", "stub", "# title"]),
        ({"answer": "mine"}, ["given", "mine", "# title"]),
        ({"answer": ""}, ["given", "", "# title"]),
        ({"answer": None}, ["given", "# title"]),
        ({"elsewhere": "mine", "nobody": None}, ["given", "stub", "# title"]),
    ],
)
def test_only_what_is_named_is_changed(sources: dict[str, str | None], texts: list[str]) -> None:
    before = notebook()
    assert [cell.source for cell in filled(before, sources).cells] == texts
    assert before == notebook()


def test_cells_are_known_by_what_nbgrader_wrote_into_them() -> None:
    assert [grade_id(cell) for cell in notebook().cells] == ["given", "answer", ""]
    assert [is_answer(cell) for cell in notebook().cells] == [False, True, False]
