"""The feedback page says what a student needs to know, and carries nothing of the student's that could act."""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser

import nbformat
from nbformat import NotebookNode

from autograder.grading.report import CheckResult, Diagnosis, Report, total
from autograder.grading.submission import graft, read_notebook
from autograder.plugins.page import feedback_page, points
from tests.submissions import odd

SCRIPT = "<script>alert(1)</script>"
WRONG = CheckResult(
    "double",
    "double",
    "twice the value",
    0.0,
    2.0,
    False,
    "x of shape (2,): result[1] should be 6; it is 9",
    Diagnosis("double-squares", "The value is squared", "book/mathematical-formulation.html#the-set", "What of 3?"),
    "result = double(3)",
    ("the source mentions BatchNorm1d",),
)
RIGHT = CheckResult("triple", "triple", "three times the value", 3.0, 3.0, True, "passed")


def notebook_of(submitted: odd.NotebookDict) -> NotebookNode:
    return graft(nbformat.from_dict(odd.release()), read_notebook(odd.as_bytes(submitted))).notebook


def report_of(*notes: str) -> Report:
    return total("lab09_tiny", "ann", 7, (WRONG, RIGHT), "bubblewrap", notes)


class Tags(HTMLParser):
    """Collects every tag and every address of a page, and whether tags are closed in order."""

    VOID = ("meta", "img", "br", "hr", "link", "input")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.urls: list[str] = []
        self.open: list[str] = []
        self.handlers: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.urls += [value or "" for name, value in attrs if name in ("href", "src", "action", "srcset", "data")]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_answers_in_the_students_order() -> None:
    """Points, what is wrong, what it looks like, the smallest call, where to read on."""
    page = feedback_page(notebook_of(odd.solved()), report_of(), book_url="https://example.org/course/")
    wanted = [
        "3 of 9 points",
        "result[1] should be 6; it is 9",
        "The value is squared",
        "What of 3?",
        "https://example.org/course/book/mathematical-formulation.html#the-set",
        "result = double(3)",
        "the source mentions BatchNorm1d",
        "three times the value",
    ]
    places = [page.index(words) for words in wanted]
    assert places == sorted(places)
    assert page.index("<title>Two functions: 3 of 9 points</title>")


def test_the_page_is_one_well_formed_file_that_asks_nobody_for_anything() -> None:
    tags = Tags(feedback_page(notebook_of(odd.solved()), report_of("A note."), book_url="https://example.org/"))
    assert tags.open == []
    assert not tags.names & {"script", "link", "iframe", "object", "embed", "form", "base"}
    assert [url for url in tags.urls if not url.startswith(("#", "data:image/"))] == (
        ["https://example.org/book/mathematical-formulation.html#the-set"]
    )


def test_every_link_within_the_page_has_its_place() -> None:
    notebook = odd.put_behind(odd.solved(), "task-double", odd.text("t", "mine"), odd.code("c", "x = 1"))
    page = feedback_page(notebook_of(notebook), report_of())
    for place in re.findall(r'href="#([^"]+)"', page):
        assert f'id="{place}"' in page


def test_nothing_of_a_students_can_act_wherever_it_stands() -> None:
    """Code, printed text, errors, pictures, answers, comments, names and messages."""
    notebook = notebook_of(odd.put_behind(odd.solved(double=SCRIPT, why=SCRIPT), "triple", odd.text("t", SCRIPT)))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [
                nbformat.v4.new_output("stream", text=SCRIPT),
                nbformat.v4.new_output("error", ename=SCRIPT, evalue=SCRIPT, traceback=[SCRIPT]),
                nbformat.v4.new_output("display_data", data={"text/html": SCRIPT, "text/plain": SCRIPT}),
                nbformat.v4.new_output("display_data", data={"image/png": f'"><{SCRIPT}'}),
            ]
        elif cell.id == "why":
            cell.source = SCRIPT  # as if grafting had not made it harmless
            cell.metadata.nbgrader["comment"] = SCRIPT + "[x](javascript:alert(1))"
    check = dataclasses.replace(WRONG, message=SCRIPT, code=SCRIPT, evidence=(SCRIPT,), title=SCRIPT)
    report = Report("lab", SCRIPT, 1, 0.0, 5.0, (check, RIGHT), "bubblewrap", (SCRIPT,))
    tags = Tags(feedback_page(notebook, report, book_url=""))
    assert "script" not in tags.names
    assert "img" not in tags.names
    assert tags.handlers == []
    assert all(url.startswith("#") for url in tags.urls)


def test_notes_and_a_missing_sandbox_are_said() -> None:
    report = dataclasses.replace(report_of("The file ends in the middle."), sandbox="none: no isolation")
    page = feedback_page(notebook_of(odd.solved()), report)
    assert "The file ends in the middle." in page
    assert "none: no isolation" in page


def test_a_picture_a_student_drew_is_shown() -> None:
    notebook = notebook_of(odd.solved())
    notebook.cells[3].outputs = [nbformat.v4.new_output("display_data", data={"image/png": "iVBORw0KGgo=\n"})]
    assert 'src="data:image/png;base64,iVBORw0KGgo="' in feedback_page(notebook, report_of())


def test_a_score_that_a_person_changed_counts_and_is_marked() -> None:
    notebook = notebook_of(odd.solved())
    notebook.cells[4].metadata.nbgrader["score"] = 1.5
    page = feedback_page(notebook, report_of())
    assert "4.5 of 9 points" in page
    assert "A person changed the points; the check gave 0." in page


def test_an_answer_nobody_has_graded_says_so() -> None:
    notebook = notebook_of(odd.solved())
    assert "Graded by a person, not yet." in feedback_page(notebook, report_of())
    notebook.cells[-1].metadata.nbgrader |= {"score": 4.0, "waiting": False}
    assert "Graded by a person, not yet." not in feedback_page(notebook, report_of())


def test_points_are_written_without_needless_decimals() -> None:
    assert [points(value) for value in (0.0, 4, 2.5, 1 / 3, 10.0, 100)] == ["0", "4", "2.5", "0.33", "10", "100"]
