"""What a text promises is read out of it: points where they are stated, signatures as Python would read them."""

from __future__ import annotations

import pytest
from nbformat import NotebookNode, v4

from autograder.authoring import wording


def graded(name: str, points: float) -> NotebookNode:
    cell = v4.new_code_cell(f'check("{name}")')
    cell.metadata["nbgrader"] = {"grade": True, "grade_id": name, "points": points}
    return cell


def notebook(*cells: NotebookNode | str) -> NotebookNode:
    return v4.new_notebook(cells=[v4.new_markdown_cell(c) if isinstance(c, str) else c for c in cells])


def test_a_heading_states_the_points_of_its_whole_section() -> None:
    """Up to the next heading of its level or above; what stands in code is no heading."""
    given = notebook(
        "# Lab", "## One (5 points)\n### Part (2 points)\n```\n# no heading (9 points)\n```", graded("a", 2),
        "### Rest", graded("b", 3), "## Two", graded("c", 1), "## Three (1 + 0.5 points, by a person)", graded("d", 0.5),
    )  # fmt: skip
    found = [(section.stated, section.cells) for section in wording.sections(given)]
    assert found == [
        ((), ["a", "b", "c", "d"]),
        ((5,), ["a", "b"]),
        ((2,), ["a"]),
        ((), ["b"]),
        ((), ["c"]),
        ((1, 0.5), ["d"]),
        ((), ["c"]),
    ]


def test_labels_belong_to_the_cells_up_to_the_next_text_with_labels_or_a_heading() -> None:
    """A text without either does not part them."""
    given = notebook(
        "**Errors** (2 points), **the\nrest** (1 point)", "**One** (2 points), **two** (1 point) and so on", graded("a", 2),
        "A remark", graded("b", 1), "## Next", graded("c", 4), "**Last**\n(3 points)", graded("d", 3),
    )  # fmt: skip
    found = [(stated, run) for _, stated, run in wording.labels(given)]
    assert found == [([2], []), ([2, 1], ["a", "b"]), ([3], ["d"])]


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("**Points:** 84, of which 78 are given by\nthe machine and 6 by a person.", (84, 78, 6)),
        ("**Points:** 7.5, all given by the machine.", (7.5, 7.5, 0)),
        ("84 points, of which 78 are given by the machine", None),
    ],
)
def test_the_total_is_read_in_its_two_forms(text: str, points: tuple[float, ...] | None) -> None:
    assert wording.total(text) == points


def test_signatures_are_read_as_python_reads_them() -> None:
    """Defaults by value, breaks of a line and annotations aside; calls and other names are none."""
    text = """`Norm(c, eps=1e-5,
    kind="a (b)", *, on=True)`, `f(x)`, `Norm(3)`, `my_Norm(c)`, `nn.Norm(c)`, `Norm(c: int, eps: float = 0.00001, n=None)`"""
    assert list(wording.signatures(text, "Norm")) == [
        ("c", "eps=1e-05", "kind='a (b)'", "on=True"),
        ("c", "eps=1e-05", "n=None"),
    ]


def test_a_reference_has_the_same_form() -> None:
    """A class without its self; what is no function has none."""

    class Norm:
        def __init__(self, c: int, eps: float = 1e-5, *, on: bool = True) -> None: ...

    assert wording.signature(Norm) == ("c", "eps=1e-05", "on=True")
    assert wording.signature(0.6) is None


def test_an_answer_is_no_part_of_the_task() -> None:
    """Or else the solution would say what the task has to."""
    given = notebook("Asked.", "Answered.")
    given.cells[1].metadata["nbgrader"] = {"grade": True, "solution": True, "grade_id": "w", "points": 6}
    assert wording.task_text(given) == "Asked."
