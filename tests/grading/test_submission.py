"""The notebook that runs is ours; what the student wrote in it means what it meant to the student."""

from __future__ import annotations

import json
import re
from typing import Any

import nbformat
import pytest

from autograder.grading.submission import EMPTY_SLOT, Grafted, graft, harmless, read_notebook
from tests.submissions import odd
from tests.submissions.odd import DOUBLE, TRIPLE, NotebookDict

RELEASE = nbformat.from_dict(odd.release())
FORGED = "check = lambda name: None\n1e9"


def grafted(notebook: NotebookDict | bytes) -> Grafted:
    raw = notebook if isinstance(notebook, bytes) else odd.as_bytes(notebook)
    return graft(RELEASE, read_notebook(raw))


def final_names(done: Grafted) -> dict[str, Any]:
    """Run what would run, as a kernel does (an error ends its cell only), and return what is defined then."""
    names: dict[str, Any] = {}
    for cell in done.cells:
        if cell.kind == "student":
            try:
                exec(cell.source, names)
            except Exception as error:
                names.setdefault("errors", []).append(error)
    return names


def ours(done: Grafted) -> list[dict[str, Any]]:
    """The cells that are not the student's to write, as they stand in the grafted notebook."""
    return [dict(done.notebook.cells[c.index]) for c in done.cells if c.origin == "release"]


def names_in_order(done: Grafted) -> list[str]:
    return [cell.id for cell in done.notebook.cells]


def assert_full_work(done: Grafted) -> None:
    names = final_names(done)
    assert names["double"](4) == 8
    assert names["triple"](4) == 12


def test_an_untouched_notebook_comes_back_as_it_was() -> None:
    done = grafted(odd.release())
    assert json.dumps(done.notebook, sort_keys=True) == json.dumps(RELEASE, sort_keys=True)
    assert done.notes == ()


def test_what_happens_to_one_graft_reaches_no_other() -> None:
    """A class shares the release: outputs, metadata and sources are written into each notebook, and into it alone."""
    before, one = json.dumps(RELEASE), grafted(odd.release())
    for cell in one.notebook.cells:
        cell.metadata.setdefault("tags", []).append("seen")
        cell.metadata.setdefault("nbgrader", {})["points"] = 99
        cell.source = "gone"
        if cell.cell_type == "code":
            cell.outputs.append({})
    one.notebook.metadata["kernelspec"] = {}
    assert json.dumps(RELEASE) == before
    assert json.dumps(grafted(odd.release()).notebook, sort_keys=True) == json.dumps(RELEASE, sort_keys=True)


def test_a_plain_solution_stands_in_our_notebook() -> None:
    done = grafted(odd.solved())
    assert_full_work(done)
    assert done.notes == ()
    assert [cell.kind for cell in done.cells] == (
        ["text", "student", "text", "student", "check", "text", "student", "check", "text", "text"]
    )
    assert [c.grade_id for c in done.cells if c.kind == "check"] == ["double", "triple"]
    nbformat.validate(done.notebook)


def edit_the_test(notebook: NotebookDict) -> NotebookDict:
    odd.cell(notebook, "double")["source"] = FORGED
    return notebook


def set_points(notebook: NotebookDict) -> NotebookDict:
    odd.cell(notebook, "double")["metadata"]["nbgrader"]["points"] = 1000
    return notebook


def unlock(notebook: NotebookDict) -> NotebookDict:
    odd.cell(notebook, "double")["metadata"]["nbgrader"] |= {"locked": False, "solution": True}
    odd.cell(notebook, "double")["source"] = FORGED
    return notebook


def make_it_text(notebook: NotebookDict) -> NotebookDict:
    odd.cell(notebook, "double")["cell_type"] = "markdown"
    return notebook


def rename_the_test(notebook: NotebookDict) -> NotebookDict:
    odd.cell(notebook, "double")["metadata"]["nbgrader"]["grade_id"] = "doubly"
    return notebook


def swap_the_tests(notebook: NotebookDict) -> NotebookDict:
    one, other = odd.cell(notebook, "double"), odd.cell(notebook, "triple")
    one["metadata"], other["metadata"] = other["metadata"], one["metadata"]
    one["id"], other["id"] = other["id"], one["id"]
    return notebook


def tag_everything(notebook: NotebookDict) -> NotebookDict:
    for cell in notebook["cells"]:
        cell["metadata"]["tags"] = ["skip-execution", "remove-cell", "hide-input"]
        cell["metadata"]["jupyter"] = {"source_hidden": True, "outputs_hidden": True}
    return notebook


def write_outputs(notebook: NotebookDict) -> NotebookDict:
    odd.cell(notebook, "double")["outputs"] = [
        {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": "2.0"}}
    ]
    return notebook


def choose_a_kernel(notebook: NotebookDict) -> NotebookDict:
    notebook["metadata"] = {"kernelspec": {"name": "my-kernel"}, "widgets": {"state": {}}}
    return notebook


@pytest.mark.parametrize(
    "tamper",
    [
        edit_the_test,
        set_points,
        unlock,
        make_it_text,
        rename_the_test,
        swap_the_tests,
        tag_everything,
        write_outputs,
        choose_a_kernel,
        lambda nb: odd.without(nb, "double"),
        lambda nb: odd.without(nb, "double", "triple", "title", "setup", "task-double"),
        lambda nb: odd.put_behind(nb, "solve-double", odd.copied(nb, "double")),
        lambda nb: odd.moved(nb, "triple", 0),
        lambda nb: nb | {"cells": nb["cells"][::-1]},
    ],
    ids=[
        "test edited", "points raised", "test unlocked and called a solution", "test made markdown", "test renamed",
        "tests swapped", "tags", "outputs written by hand", "own kernel", "test deleted", "most of it deleted",
        "test copied", "test moved to the top", "upside down",
    ],
)  # fmt: skip
def test_tampering_with_our_cells_has_no_effect_at_all(tamper: Any) -> None:
    """Edited, deleted, copied, retagged, moved, unlocked: our cells are the release's, in number, order and text."""
    done = grafted(tamper(odd.solved()))
    assert ours(done) == ours(grafted(odd.release()))
    assert done.notebook.metadata == RELEASE.metadata
    kept = [name for name in names_in_order(done) if not name.startswith("student-extra")]
    assert kept == [cell.id for cell in RELEASE.cells]
    nbformat.validate(done.notebook)
    assert_full_work(done)


def test_nothing_of_a_students_metadata_reaches_a_cell() -> None:
    """skip-execution scores full marks in stock nbgrader; remove-cell hides a cell from a person."""
    notebook = tag_everything(odd.put_behind(odd.solved(), "double", odd.code("mine", "print(1)")))
    done = grafted(notebook)
    allowed = {json.dumps(cell.metadata) for cell in RELEASE.cells} | {"{}"}
    assert {json.dumps(cell.metadata) for cell in done.notebook.cells} <= allowed


def test_a_changed_test_cell_is_named() -> None:
    assert grafted(edit_the_test(odd.solved())).notes == ("The test cell double was changed; the original one counts.",)


def test_helper_cells_stay_where_the_student_put_them() -> None:
    notebook = odd.solved(double="def double(x):\n    return plus(x, x)\n", triple="def triple(x):\n    return t(x)\n")
    odd.put_behind(notebook, "task-double", odd.code("h1", "def plus(a, b):\n    return a + b\n"))
    odd.put_behind(notebook, "solve-triple", odd.code("h2", "def t(x):\n    return plus(x, double(x))\n"))
    notebook["cells"].append(odd.code("h3", "print(double(2))"))
    done = grafted(notebook)
    assert_full_work(done)
    order = names_in_order(done)
    assert order.index("student-extra-1") == order.index("solve-double") - 1
    assert order.index("student-extra-2") == order.index("solve-triple") + 1
    assert order[-1] == "student-extra-3"
    assert done.notes == ()


def test_a_class_split_over_two_cells_works() -> None:
    """The first half in our cell, the second in one of the student's own."""
    notebook = odd.solved(double="class Base:\n    def f(self, x):\n        return x + x\n")
    odd.put_behind(notebook, "solve-double", odd.code("rest", "class D(Base):\n    pass\ndouble = D().f\n"))
    assert_full_work(grafted(notebook))


def test_an_answer_in_a_cell_of_its_own_is_not_overwritten_by_our_stub() -> None:
    """The student deleted our cell and wrote the answer in a new one: the slot stays empty."""
    notebook = odd.put_behind(odd.without(odd.solved(), "solve-double"), "task-double", odd.code("mine", DOUBLE))
    done = grafted(notebook)
    assert_full_work(done)
    slot = next(cell for cell in done.cells if cell.grade_id == "solve-double")
    assert slot.source == EMPTY_SLOT
    assert done.notes == ("The submission has no cell solve-double; its place was left empty.",)


def test_an_answer_above_everything_is_not_overwritten_either() -> None:
    notebook = odd.without(odd.solved(), "solve-double", "solve-triple")
    notebook["cells"].insert(0, odd.code("all", DOUBLE + TRIPLE))
    assert_full_work(grafted(notebook))


@pytest.mark.parametrize("better_first", [True, False])
def test_of_two_copies_of_an_answer_the_later_one_wins_as_in_the_students_notebook(better_first: bool) -> None:
    notebook = odd.solved(double="def double(x):\n    return 'first'\n")
    odd.put_behind(
        notebook, "solve-double", odd.copied(notebook, "solve-double", "def double(x):\n    return 'last'\n")
    )
    if better_first:
        at = odd.place(notebook, "solve-double")
        notebook["cells"][at : at + 2] = notebook["cells"][at : at + 2][::-1]
    done = grafted(notebook)
    assert final_names(done)["double"](1) == ("first" if better_first else "last")
    assert "The cell solve-double is there more than once; the first one took its place." in done.notes


def test_a_copy_runs_where_it_stands_and_not_earlier() -> None:
    """A second version of `double` below `triple` must not reach the code that ran before it."""
    notebook = odd.solved(triple="x_then = double(1)\n" + TRIPLE)
    odd.put_behind(notebook, "triple", odd.copied(notebook, "solve-double", "def double(x):\n    return -1\n"))
    names = final_names(grafted(notebook))
    assert names["x_then"] == 2
    assert names["double"](1) == -1


def test_a_copied_test_cell_is_dropped_and_named() -> None:
    notebook = odd.solved()
    odd.put_behind(notebook, "solve-double", odd.copied(notebook, "double"))
    done = grafted(notebook)
    assert all(cell.origin != "extra" for cell in done.cells)
    assert done.notes == ("The cell double is there more than once; the first one took its place.",)


def test_a_copied_test_cell_that_was_written_over_is_the_students_own_code() -> None:
    """Copying any cell is how some people make a new one."""
    notebook = odd.solved(triple="def triple(x):\n    return mine(x)\n")
    odd.put_behind(notebook, "double", odd.copied(notebook, "double", "def mine(x):\n    return 3 * x\n"))
    done = grafted(notebook)
    assert_full_work(done)
    assert sum(cell.kind == "check" for cell in done.cells) == 2


def test_an_import_added_to_our_set_up_cell_works() -> None:
    notebook = odd.solved(double="def double(x):\n    return reduce(lambda a, b: a + b, [x, x])\n")
    odd.cell(notebook, "setup")["source"] = "import math\nfrom functools import reduce\n"
    done = grafted(notebook)
    assert_full_work(done)
    assert names_in_order(done)[1:3] == ["setup", "student-extra-1"]
    assert done.notes == ("The given cell setup was changed; the original one was run, then the changed one.",)


def test_a_set_up_cell_emptied_or_broken_does_not_cost_the_lab() -> None:
    for source in ("", "import maths_\n", "1/0"):
        notebook = odd.solved(double="def double(x):\n    return math.prod([2, x])\n")
        odd.cell(notebook, "setup")["source"] = source
        assert_full_work(grafted(notebook))


def test_blanks_and_line_ends_do_not_count_as_changes() -> None:
    notebook = odd.solved()
    odd.cell(notebook, "setup")["source"] = "import math  \r\n\r\n"
    odd.cell(notebook, "double")["source"] = 'check("double")   \n'
    done = grafted(notebook)
    assert done.notes == ()
    assert all(cell.origin != "extra" for cell in done.cells)


@pytest.mark.parametrize("kind", ["markdown", "raw"])
def test_an_answer_in_a_cell_that_is_not_code_is_no_code(kind: str) -> None:
    notebook = odd.solved()
    odd.cell(notebook, "solve-double")["cell_type"] = kind
    done = grafted(notebook)
    assert "double" not in final_names(done)
    assert done.notes == (f"The cell solve-double is a {kind} cell in the submission, so nothing in it was run.",)


def test_swapped_exercises_run_in_the_labs_order_and_it_is_said() -> None:
    notebook = odd.moved(odd.solved(triple="def triple(x):\n    return x + double(x)\n"), "solve-triple", 1)
    done = grafted(notebook)
    assert_full_work(done)
    assert "Some cells had been moved; the exercises were run in the lab's order." in done.notes


def test_a_test_cell_dragged_up_does_not_drag_a_helper_behind_the_answer_that_needs_it() -> None:
    """The helper below the dragged test still runs before the answer below it."""
    notebook = odd.solved(double="@identity\ndef double(x):\n    return 2 * x\n")
    odd.put_behind(notebook, "task-double", odd.code("helper", "def identity(f):\n    return f\n"))
    odd.moved(notebook, "double", odd.place(notebook, "task-double") + 1)
    assert_full_work(grafted(notebook))


def test_a_file_without_any_names_still_runs_in_its_order() -> None:
    """A converter threw ids and metadata away: our cells are known by their text, the rest is the student's."""
    done = grafted(odd.stripped(odd.solved()))
    assert_full_work(done)
    assert [cell.origin for cell in done.cells].count("extra") == 3  # two answers and a text
    assert [cell.source for cell in done.cells if cell.grade_id in ("solve-double", "solve-triple")] == [EMPTY_SLOT] * 2
    assert any("could be told" in note for note in done.notes)
    kinds = [(cell.grade_id or "extra", cell.kind) for cell in done.cells if cell.kind != "text"]
    assert kinds.index(("extra", "student")) < kinds.index(("double", "check"))


def test_a_file_without_names_and_with_changed_texts_too_runs_from_the_top() -> None:
    notebook = odd.stripped(odd.solved())
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell in notebook["cells"]:
        cell["source"] = "# mine\n" + cell["source"]
    assert_full_work(grafted(notebook))


def test_the_cell_id_helps_where_nbgraders_name_is_gone() -> None:
    """Some editors keep ids and drop metadata they do not know."""
    notebook = odd.solved()
    for cell in notebook["cells"]:
        cell["metadata"] = {}
    done = grafted(notebook)
    assert_full_work(done)
    assert done.notes == ()
    assert all(cell.origin != "extra" for cell in done.cells)


@pytest.mark.parametrize("name", ["colab.ipynb", "utf16.ipynb", "nulls.ipynb"])
def test_real_files_from_other_tools_are_grafted_in_full(name: str) -> None:
    done = grafted(odd.real_file(name))
    assert_full_work(done)
    assert done.notes == ()
    assert all(cell.origin != "extra" for cell in done.cells)


def test_an_empty_notebook_has_empty_places() -> None:
    done = grafted({"cells": []})
    assert [cell.source for cell in done.cells if cell.origin == "solution" and cell.kind == "student"] == [
        EMPTY_SLOT,
        EMPTY_SLOT,
    ]
    assert len(done.notes) == 2


def test_a_written_answer_keeps_its_text_and_loses_its_html() -> None:
    text = "x<y, `a < b`, $p<q$ <script>alert(1)</script> <IMG SRC=x onerror=alert(1)> <!-- --> </div> < b"
    done = grafted(odd.solved(why=text))
    answer = done.notebook.cells[-1].source
    assert answer.replace(" ", "") == text.replace(" ", "")
    for tag in ("<s", "<I", "<!", "</"):
        assert tag not in answer


@pytest.mark.parametrize(("kind", "shown"), [("raw", "It is linear."), ("code", "```\nIt is linear.\n```")])
def test_a_written_answer_in_a_cell_of_another_kind_can_still_be_graded(kind: str, shown: str) -> None:
    notebook = odd.solved(why="It is linear.")
    odd.cell(notebook, "why")["cell_type"] = kind
    done = grafted(notebook)
    assert done.notebook.cells[-1].cell_type == "markdown"
    assert done.notebook.cells[-1].source == shown
    assert done.notes == (f"The written answer why stood in a {kind} cell; its text was kept.",)


def test_an_unanswered_question_is_still_known_as_unanswered() -> None:
    """nbgrader compares the text with the release's to say `No response.`"""
    assert grafted(odd.solved(why=odd.ANSWER_STUB)).notebook.cells[-1].source == odd.ANSWER_STUB


def test_raw_and_blank_extra_cells_are_left_out_and_text_is_made_harmless() -> None:
    """A raw cell goes into a web page as it is."""
    notebook = odd.put_behind(
        odd.solved(),
        "double",
        {"cell_type": "raw", "metadata": {"raw_mimetype": "text/html"}, "source": "<script>alert(1)</script>"},
        odd.code("blank", "  \n"),
        odd.text("remark", "See <b onclick=alert(1)>here</b>"),
    )
    done = grafted(notebook)
    extras = [cell for cell in done.cells if cell.origin == "extra"]
    assert [cell.source for cell in extras] == ["See < b onclick=alert(1)>here< /b>"]


def test_grafting_leaves_the_release_and_the_submission_as_they_were() -> None:
    release, submitted = nbformat.from_dict(odd.release()), read_notebook(odd.as_bytes(odd.solved()))
    before = json.dumps([release, submitted])
    done = graft(release, submitted)
    for cell in done.notebook.cells:
        cell.metadata["touched"] = True
        cell.source += "!"
    assert json.dumps([release, submitted]) == before


def test_grafting_is_the_same_every_time() -> None:
    notebook = odd.put_behind(odd.solved(), "double", odd.code("mine", "x = 1"))
    assert json.dumps(grafted(notebook).notebook) == json.dumps(grafted(notebook).notebook)


@pytest.mark.parametrize("text", ["<a", "<<a", "<\n<b", "<?php", "</a>", "<!DOCTYPE", "<Z"])
def test_harmless_leaves_no_place_where_a_tag_could_begin(text: str) -> None:
    assert re.search(r"<[^\s<]", harmless(text)) is None
