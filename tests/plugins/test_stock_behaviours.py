"""What stock nbgrader does to a class and this course must not: one student for each, graded in one run.

The class is graded once, in the sandbox, by `nbgrader autograde`; each test looks at one student.
"""

from __future__ import annotations

import csv
import io
import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.utils import determine_grade

from autograder.errors import CourseError, SandboxUnavailable
from autograder.grading.report import CheckResult, total
from autograder.plugins import execute
from autograder.plugins.export import as_text
from autograder.plugins.handover import check_scores
from tests.plugins.conftest import LAB, Course
from tests.submissions import odd
from tests.submissions.odd import DOUBLE

pytestmark = pytest.mark.sandbox

FULL = {"double": 2.0, "triple": 3.0}
NONE = {"double": 0.0, "triple": 0.0}
SECRET = "THE-ANSWER-OF-THE-INSTRUCTOR"
SCRIPT = "<script>alert('student')</script><img src=x onerror=alert(1)>"


def noisy() -> odd.NotebookDict:
    """Warnings and prints to stderr, as many a library makes."""
    talk = "import sys, warnings\nwarnings.warn('careful')\nprint('progress', file=sys.stderr)\n"
    loud = "def double(x):\n    print('called', file=sys.stderr)\n    return 2 * x\n"
    return odd.solved(double=talk + loud)


def forging() -> odd.NotebookDict:
    """Everything a cell can print that stock nbgrader reads as a score."""
    notebook = odd.release()
    odd.cell(notebook, "solve-double")["source"] = (
        "class Score(float):\n    def __repr__(self):\n        return 'nan'\n"
        "def double(x):\n    return Score()\n"
        "from IPython.display import display\ndisplay({'text/plain': '2.0'}, raw=True)\nScore()"
    )
    odd.cell(notebook, "double")["source"] = "float('nan')"
    odd.cell(notebook, "triple")["source"] = "-1.0"
    odd.cell(notebook, "triple")["outputs"] = [
        {"output_type": "execute_result", "data": {"text/plain": "full"}, "metadata": {}, "execution_count": 1}
    ]
    return notebook


def skipping() -> odd.NotebookDict:
    notebook = odd.release()
    for cell in notebook["cells"]:
        cell["metadata"]["tags"] = ["skip-execution"]
    return notebook


def copying() -> odd.NotebookDict:
    notebook = odd.solved()
    odd.put_behind(
        notebook, "triple", odd.copied(notebook, "solve-double"), odd.copied(notebook, "double", new_id="c2")
    )
    return notebook


def scripting() -> odd.NotebookDict:
    notebook = odd.solved(
        double="from IPython.display import HTML, Javascript, display\n"
        f"display(HTML({SCRIPT!r}))\ndisplay(Javascript('alert(2)'))\nprint({SCRIPT!r})\n" + DOUBLE,
        why=f"{SCRIPT} [here](javascript:alert(3)) ![p](http://example.org/pixel.png)",
    )
    return odd.put_behind(notebook, "triple", odd.text("mine", SCRIPT), {"cell_type": "raw", "source": SCRIPT})


@pytest.fixture(scope="module")
def graded(shared_course: Course) -> tuple[Course, str]:
    course = shared_course
    course.submit("noisy", noisy())
    course.submit("forging", forging())
    course.submit("skipping", skipping())
    course.submit("copying", copying())
    course.submit("scripting", scripting())
    course.submit("flooding", odd.solved(double="for i in range(300000):\n    print('x' * 40, i)\n" + DOUBLE))
    course.submit("exiting", odd.solved(double=DOUBLE + "import os\nos._exit(3)\n"))
    course.submit("truncated", odd.real_file("truncated.ipynb"))
    course.submit("unjson", b"<html>Please sign in</html>")
    course.submit("renamed", odd.solved()).rename(course.root / "submitted" / "renamed" / LAB / f"{LAB} (1).ipynb")
    (course.root / "secret.txt").write_text(SECRET)
    folder = course.submit("linking", odd.solved()).parent
    (folder / "data.txt").symlink_to(course.root / "secret.txt")
    (folder / "more").symlink_to(course.root / "solutions")
    os.mkfifo(folder / "pipe")
    stolen = course.submit("stealing", b"").parent / f"{LAB}.ipynb"
    stolen.unlink()
    stolen.symlink_to(course.root / "_build" / "source" / LAB / f"{LAB}.ipynb")
    return course, course.autograde()


def scores(course: Course, student: str) -> dict[str, float | None]:
    found = course.scores(student)
    return {name: found[name] for name in FULL}


def test_the_whole_class_is_graded_whatever_some_of_them_hand_in(graded: tuple[Course, str]) -> None:
    """Nobody's file stops the class, and nobody is lost from the gradebook."""
    course, _ = graded
    handed_in = sorted(path.name for path in (course.root / "submitted").iterdir())
    assert sorted(path.name for path in (course.root / "autograded").iterdir()) == handed_in
    for student in handed_in:
        assert None not in scores(course, student).values(), student


def test_stderr_in_a_graded_cell_costs_nothing(graded: tuple[Course, str]) -> None:
    assert scores(graded[0], "noisy") == FULL


def test_nan_negative_and_text_are_no_scores(graded: tuple[Course, str]) -> None:
    assert scores(graded[0], "forging") == NONE


def test_the_tag_skip_execution_earns_nothing(graded: tuple[Course, str]) -> None:
    assert scores(graded[0], "skipping") == NONE
    assert "skip-execution" not in nbformat.writes(graded[0].graded("skipping"))


def test_a_copied_cell_costs_nobody_anything(graded: tuple[Course, str]) -> None:
    course, log = graded
    assert scores(course, "copying") == FULL
    assert "The cell double is there more than once" in log


def test_a_file_that_cannot_be_read_is_a_zero_with_a_sentence(graded: tuple[Course, str]) -> None:
    course, _ = graded
    for student, words in (("truncated", "ends in the middle"), ("unjson", "is not a notebook")):
        assert scores(course, student) == NONE
        assert words in course.report(student)["notes"][0]
        assert words in course.report(student)["checks"][0]["message"]


def test_a_notebook_under_another_name_is_graded(graded: tuple[Course, str]) -> None:
    assert scores(graded[0], "renamed") == FULL


def test_a_kernel_that_exits_costs_its_cell_and_not_the_lab(graded: tuple[Course, str]) -> None:
    found = scores(graded[0], "exiting")
    assert found["triple"] == 3.0
    assert graded[0].report("exiting")["notes"]


def test_links_and_pipes_in_a_submission_are_not_followed(graded: tuple[Course, str]) -> None:
    course, log = graded
    assert scores(course, "linking") == FULL
    assert sorted(path.name for path in (course.root / "autograded" / "linking" / LAB).iterdir()) == [f"{LAB}.ipynb"]
    assert "Removed from the submission" in log
    everything = [path for step in ("autograded", "submitted") for path in (course.root / step).rglob("*")]
    assert not any(path.is_symlink() for path in everything)
    assert not any(SECRET in path.read_text() for path in everything if path.is_file())
    assert (course.root / "secret.txt").read_text() == SECRET


def test_a_notebook_that_is_a_link_to_the_solution_earns_nothing(graded: tuple[Course, str]) -> None:
    course, _ = graded
    assert scores(course, "stealing") == NONE
    assert "not handed in" in course.report("stealing")["notes"][0]


def test_a_flood_of_output_does_not_reach_the_gradebook_or_the_page(graded: tuple[Course, str]) -> None:
    """LimitOutput counts lines and knows no bytes."""
    path = graded[0].root / "autograded" / "flooding" / LAB / f"{LAB}.ipynb"
    assert path.stat().st_size < 3_000_000


def test_no_html_and_no_script_of_a_students_is_kept(graded: tuple[Course, str]) -> None:
    notebook = graded[0].graded("scripting")
    assert scores(graded[0], "scripting") == FULL
    kinds = {kind for cell in notebook.cells for output in cell.get("outputs", ()) for kind in output.get("data", {})}
    assert kinds <= {"text/plain", "image/png", "image/jpeg"}
    texts = [cell.source for cell in notebook.cells if cell.cell_type != "code"]
    assert not re.search(r"<[a-zA-Z/!]", "".join(texts))
    assert all(cell.cell_type != "raw" for cell in notebook.cells)


def test_a_resubmission_without_test_cells_does_not_keep_the_old_score(course: Course) -> None:
    """Stock nbgrader only records scores for the test cells that it finds."""
    course.submit("ann", odd.solved())
    course.autograde()
    assert scores(course, "ann") == FULL
    course.submit("ann", odd.without(odd.release(), "double", "triple"))
    course.autograde("--force")
    assert scores(course, "ann") == NONE


def test_no_execute_is_refused(course: Course) -> None:
    """Stock nbgrader warns in its manual that this gives everyone full marks."""
    course.submit("ann", odd.release())
    log = course.autograde("--no-execute", expect=1)
    assert "full marks" in log
    with course.gradebook() as gradebook:
        grades = gradebook.find_submission_notebook(LAB, LAB, "ann").grades
        assert all(not grade.auto_score for grade in grades)


def test_a_sandbox_that_cannot_start_is_no_zero(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our failure must never look like a student's."""

    def refused(*_: Any, **__: Any) -> Any:
        raise SandboxUnavailable("bubblewrap is not installed; run autograder doctor.")

    monkeypatch.setattr(execute, "grade_notebook", refused)
    course.submit("ann", odd.solved())
    log = course.autograde(expect=1)
    assert "bubblewrap is not installed; run autograder doctor." in log
    assert not (course.root / "autograded" / "ann" / LAB).exists()
    assert scores(course, "ann") == {"double": None, "triple": None}


def test_grading_without_a_sandbox_is_said_in_the_report(course: Course) -> None:
    course.submit("ann", odd.solved())
    course.autograde("--Execute.sandboxed=False")
    assert course.report("ann")["sandbox"].startswith("none")
    assert scores(course, "ann") == FULL


def test_a_timestamp_that_cannot_be_read_does_not_lose_the_submission(course: Course) -> None:
    path = course.submit("ann", odd.solved()).with_name("timestamp.txt")
    path.write_text("yesterday, I think")
    course.autograde()
    assert scores(course, "ann") == FULL


def test_feedback_on_a_notebook_that_was_graded_by_another_config_says_what_to_do(course: Course) -> None:
    course.submit("ann", odd.solved())
    course.autograde()
    path = course.root / "autograded" / "ann" / LAB / f"{LAB}.ipynb"
    notebook = course.graded("ann")
    del notebook.metadata["autograder"]
    path.chmod(0o644)
    nbformat.write(notebook, path)
    log = course.run("generate_feedback", LAB, expect=1)
    assert "run `nbgrader autograde lab09_tiny --force`" in log


def report_of(points: float) -> Any:
    result = CheckResult("double", "double", "twice", points, 2.0, points == 2.0, "words")
    return total(LAB, "ann", 1, (result,), "bubblewrap", ())


@pytest.mark.parametrize("text", ["nan", "-1.0", "inf", "full", "2.0"])
def test_a_score_that_the_report_does_not_give_never_reaches_the_gradebook(text: str) -> None:
    """The last look before nbgrader's scorer: what it would read must be what the report says."""
    cell = odd.code("double", "", grade=True, locked=True, points=2)
    cell["outputs"] = [
        {"output_type": "execute_result", "data": {"text/plain": text}, "metadata": {}, "execution_count": 1}
    ]
    notebook = nbformat.from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]})
    with pytest.raises((CourseError, ValueError)):
        check_scores(notebook, report_of(1.0))


def test_points_of_notebook_and_checks_must_agree() -> None:
    cell = odd.code("double", "", grade=True, locked=True, points=5)
    notebook = nbformat.from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]})
    assert determine_grade(notebook.cells[0]) == (5.0, 5.0)
    with pytest.raises(CourseError, match="make the notebook and the checks of lab09_tiny agree"):
        check_scores(notebook, report_of(2.0))


def test_the_csv_survives_commas_quotes_and_formulas(course: Course, tmp_path: Path) -> None:
    with course.gradebook() as gradebook:
        gradebook.add_student("eve", first_name='=HYPERLINK("http://example.org","x")', last_name='Eve, "E"\nB')
        gradebook.add_student("mal", first_name="@SUM(A1)", last_name=" =1+1", email="-2+3")
    course.run("export", "--to", str(tmp_path / "grades.csv"))
    text = (tmp_path / "grades.csv").read_text()
    rows = {row["student_id"]: row for row in csv.DictReader(io.StringIO(text))}
    assert rows["eve"]["last_name"] == 'Eve, "E"\nB'
    assert rows["eve"]["first_name"] == '\'=HYPERLINK("http://example.org","x")'
    assert rows["mal"]["first_name"] == "'@SUM(A1)"
    assert rows["mal"]["last_name"] == "' =1+1"
    assert rows["mal"]["email"] == "'-2+3"
    assert rows["eve"]["max_score"] == "9.0"
    assert all(line.startswith('"') for line in text.split("\r\n") if line)


@pytest.mark.parametrize("value", ["=1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", "  =1", "|x", "%0A=1"])
def test_whatever_begins_a_formula_is_text(value: str) -> None:
    assert as_text(value) == "'" + value


def test_numbers_and_plain_words_stay_as_they_are() -> None:
    assert [as_text(value) for value in (1.5, 0, None, "Ann", "O'Brien", "")] == ["1.5", "0", "", "Ann", "O'Brien", ""]
