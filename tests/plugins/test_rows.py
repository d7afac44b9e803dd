"""Grades and comments that are read and written many at a time are nbgrader's own, and those of a person stay."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Comment, Grade, Gradebook
from sqlalchemy import event

from autograder.plugins.gradebook import OpenGradebook
from autograder.plugins.record import Recorder
from autograder.plugins.rows import COMMENTS, GRADES, Kind, fresh
from tests.plugins.conftest import LAB, Course
from tests.plugins.recording import graded, rows
from tests.submissions import odd


@pytest.fixture
def course(course_template: Path, tmp_path: Path) -> Course:
    """A course in which ann has handed in and is graded, by the machine and by a person."""
    shutil.copytree(course_template, tmp_path / "course")
    made = Course(tmp_path / "course")
    made.submit("ann", odd.solved())
    Recorder(made.root, LAB).record({"ann": graded(made, "ann", odd.solved(), "double")})
    with made.gradebook() as gradebook:
        why = gradebook.find_grade("why", LAB, LAB, "ann")
        why.manual_score, why.extra_credit, why.needs_manual_grade = 3.0, 0.5, False
        gradebook.find_comment("why", LAB, LAB, "ann").manual_comment = "Good."
        gradebook.db.commit()
    return made


@pytest.fixture
def recorder(course: Course) -> Iterator[Recorder]:
    made = Recorder(course.root, LAB)
    yield made
    made.close()


def test_a_row_says_what_nbgraders_own_object_says(course: Course, recorder: Recorder) -> None:
    with course.gradebook() as theirs, recorder.gradebook.batch(LAB, ["ann"]):
        for name in ("double", "triple", "why"):
            row, grade = (book.find_grade(name, LAB, LAB, "ann") for book in (recorder.gradebook, theirs))
            for field in ("id", "notebook_id", "cell_id", *GRADES.names, *GRADES.reads):
                assert getattr(row, field) == getattr(grade, field), (name, field)
        row, comment = (book.find_comment("why", LAB, LAB, "ann") for book in (recorder.gradebook, theirs))
        for field in ("id", "notebook_id", "cell_id", *COMMENTS.names, *COMMENTS.reads):
            assert getattr(row, field) == getattr(comment, field), field
        assert (row.comment, recorder.gradebook.find_grade("why", LAB, LAB, "ann").score) == ("Good.", 3.5)


@pytest.mark.parametrize("kind", [GRADES, COMMENTS], ids=lambda kind: kind.table.__name__)
def test_a_new_row_is_what_nbgraders_own_object_is_at_first(kind: Kind, course: Course) -> None:
    row = fresh(kind, "n", "c")
    with course.gradebook() as theirs:
        notebook = theirs.find_submission_notebook(LAB, LAB, "ann")
        made = kind.table(cell_id="c", notebook=notebook)
        theirs.db.add(made)
        theirs.db.flush()
        assert {name: getattr(row, name) for name in kind.names} == {name: getattr(made, name) for name in kind.names}
        assert len(row.id) == len(made.id)
        theirs.db.rollback()


def test_the_columns_that_may_be_set_and_read_are_all_that_nbgraders_steps_use() -> None:
    """The others are keys, or nbgrader's own views of these."""
    for kind, others in ((GRADES, {"id", "notebook_id", "cell_id"}), (COMMENTS, {"id", "notebook_id", "cell_id"})):
        columns = {column.name for column in kind.table.__table__.columns}
        assert columns <= {*kind.names, *kind.reads, *others}
    assert {GRADES.table, COMMENTS.table} == {Grade, Comment}


def test_a_person_who_grades_meanwhile_keeps_what_they_wrote(course: Course, recorder: Recorder) -> None:
    """Between the moment when a batch is read and the moment when it is written."""
    with recorder.gradebook.batch(LAB, ["ann"]):
        with course.gradebook() as person:
            grade = person.find_grade("double", LAB, LAB, "ann")
            grade.manual_score, grade.extra_credit, grade.needs_manual_grade = 1.5, 0.25, True
            person.find_comment("solve-double", LAB, LAB, "ann").manual_comment = "Nearly."
            person.db.commit()
        recorder.gradebook.find_grade("double", LAB, LAB, "ann").auto_score = 2.0
        recorder.gradebook.find_comment("solve-double", LAB, LAB, "ann").auto_comment = "No response."
    with course.gradebook() as found:
        grade = found.find_grade("double", LAB, LAB, "ann")
        assert (grade.auto_score, grade.manual_score, grade.extra_credit) == (2.0, 1.5, 0.25)
        assert grade.needs_manual_grade
        comment = found.find_comment("solve-double", LAB, LAB, "ann")
        assert (comment.auto_comment, comment.manual_comment) == ("No response.", "Nearly.")


@pytest.mark.parametrize(
    ("changes", "written"),
    [
        ({}, set()),
        ({"double": {"auto_score": 0.0}}, set()),  # as it was
        ({"double": {"auto_score": 2.0}}, {"auto_score"}),
        ({"why": {"needs_manual_grade": True}}, {"needs_manual_grade"}),
        ({"double": {"auto_score": 2.0}, "why": {"needs_manual_grade": True}}, {"auto_score", "needs_manual_grade"}),
    ],
)
def test_only_what_has_changed_is_written(
    course: Course, recorder: Recorder, changes: dict[str, dict[str, Any]], written: set[str]
) -> None:
    said: list[str] = []
    event.listen(recorder.gradebook.engine, "before_cursor_execute", lambda *args: said.append(args[2]))
    before = rows(course.db_url)
    with recorder.gradebook.batch(LAB, ["ann"]):
        for name, fields in changes.items():
            for field, value in fields.items():
                setattr(recorder.gradebook.find_grade(name, LAB, LAB, "ann"), field, value)
    updates = [text for text in said if text.startswith("UPDATE")]
    assert {field for text in updates for field in GRADES.names if f"{field}=" in text} == written
    assert len(updates) == len(written)
    assert (rows(course.db_url) != before) is bool(written)


def test_recording_the_same_again_changes_no_row(course: Course, recorder: Recorder) -> None:
    recorder.record({"ann": graded(course, "ann", odd.solved(), "double")})
    before, said = rows(course.db_url), list[str]()
    event.listen(recorder.gradebook.engine, "before_cursor_execute", lambda *args: said.append(args[2]))
    recorder.record({"ann": graded(course, "ann", odd.solved(), "double")})
    assert rows(course.db_url) == before
    assert not [text for text in said if not text.startswith("SELECT")]


def test_a_batch_that_breaks_off_writes_no_row(course: Course, recorder: Recorder) -> None:
    before = rows(course.db_url)

    def broken_off() -> None:
        with recorder.gradebook.batch(LAB, ["ann"]):
            recorder.gradebook.find_grade("double", LAB, LAB, "ann").auto_score = 2.0
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert rows(course.db_url) == before


def test_a_new_submission_has_the_rows_that_nbgrader_makes_for_it(course_template: Path, tmp_path: Path) -> None:
    """Of every kind of cell: graded by the machine, by a person, to be filled, and a task."""
    left = []
    for ours in (True, False):
        root = tmp_path / f"ours {ours}"
        shutil.copytree(course_template, root)
        source = odd.instructors()
        source["cells"].append(odd.text("plot", "Draw it.", task=True, points=2))
        (root / "_build" / "source" / LAB / f"{LAB}.ipynb").write_text(json.dumps(source))
        course = Course(root)
        Recorder(root, LAB).prepare()
        gradebook: Any = OpenGradebook(course.db_url, "normalization") if ours else Gradebook(course.db_url)
        with gradebook.batch(LAB, ["ann"]) if ours else nullcontext():
            gradebook.update_or_create_student("ann")
            gradebook.update_or_create_submission(LAB, "ann", timestamp="2030-01-01 10:00:00 UTC")
        gradebook.close()
        left.append(rows(course.db_url))
    assert left[0] == left[1]
    assert {row[1] for row in left[0]["grade"]} == {"double", "triple", "why", "plot"}
    assert {row[1] for row in left[0]["comment"]} == {"solve-double", "solve-triple", "why", "plot"}
