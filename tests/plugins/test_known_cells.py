"""A lab whose cells are remembered while it is told to the gradebook stands there as nbgrader alone would have told it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from nbgrader.api import GradeCell, MissingEntry, Notebook, SolutionCell, SourceCell, TaskCell
from sqlalchemy import event

from autograder.errors import CourseError
from autograder.plugins.gradebook import OpenGradebook
from autograder.plugins.record import Recorder
from tests.plugins.conftest import LAB, Course
from tests.plugins.recording import graded
from tests.submissions import odd

Edit = Callable[[odd.NotebookDict], None]


def points(source: odd.NotebookDict) -> None:
    odd.cell(source, "double")["metadata"]["nbgrader"]["points"] = 7


def words(source: odd.NotebookDict) -> None:
    odd.cell(source, "task-why")["source"] = "Why, and why not?"


def added(source: odd.NotebookDict) -> None:
    source["cells"].append(odd.code("more", 'check("more")', grade=True, locked=True, points=1))


def taken_out(source: odd.NotebookDict) -> None:
    source["cells"].remove(odd.cell(source, "triple"))


def renamed(source: odd.NotebookDict) -> None:
    cell = odd.cell(source, "double")
    cell["id"] = cell["metadata"]["nbgrader"]["grade_id"] = "twice"


def a_task(source: odd.NotebookDict) -> None:
    source["cells"].append(odd.text("plot", "Draw it.", task=True, points=2))


def other_kernel(source: odd.NotebookDict) -> None:
    source["metadata"]["kernelspec"]["name"] = "python4"


def nothing(source: odd.NotebookDict) -> None:
    pass


EDITS: list[Edit] = [nothing, points, words, added, taken_out, renamed, a_task, other_kernel]


def changed(template: Path, root: Path, edit: Edit) -> Course:
    """The course, whose lab its author has just changed."""
    shutil.copytree(template, root)
    source = odd.instructors()
    edit(source)
    (root / "_build" / "source" / LAB / f"{LAB}.ipynb").write_text(json.dumps(source))
    return Course(root)


def told(course: Course) -> dict[str, list[tuple[object, ...]]]:
    """All that the gradebook holds of labs, without the random keys."""
    with course.gradebook() as gradebook:
        ask = gradebook.db.query
        found = {
            "notebook": [(n.name, n.assignment.name, n.kernelspec) for n in ask(Notebook)],
            "grade": [(c.name, c.max_score, c.cell_type) for c in ask(GradeCell)],
            "task": [(c.name, c.max_score, c.cell_type) for c in ask(TaskCell)],
            "solution": [(c.name,) for c in ask(SolutionCell)],
            "source": [(c.name, c.cell_type, c.source, c.checksum, c.locked) for c in ask(SourceCell)],
        }
        return {kind: sorted(rows, key=repr) for kind, rows in found.items()}


@pytest.mark.parametrize(("edit", "fresh"), [*((edit, False) for edit in EDITS), (nothing, True), (a_task, True)])
def test_the_lab_is_told_as_nbgrader_tells_it(course_template: Path, tmp_path: Path, edit: Edit, fresh: bool) -> None:
    ours, theirs = (changed(course_template, tmp_path / name, edit) for name in ("ours", "theirs"))
    before = told(theirs)
    if fresh:
        for course in (ours, theirs):
            (course.root / "gradebook.db").unlink()
    Recorder(ours.root, LAB).prepare()
    theirs.run("generate_assignment", LAB, "--force")
    assert told(ours) == told(theirs)
    assert (told(ours) == before) is (edit is nothing)
    released = [course.root / "labs" / LAB / f"{LAB}.ipynb" for course in (ours, theirs)]
    assert released[0].read_bytes() == released[1].read_bytes()


@pytest.mark.parametrize("edit", [points, words])
def test_a_lab_that_somebody_has_handed_in_may_change_its_points_and_words(
    course_template: Path, tmp_path: Path, edit: Edit
) -> None:
    ours, theirs = (changed(course_template, tmp_path / name, edit) for name in ("ours", "theirs"))
    for course in (ours, theirs):
        course.submit("ann", odd.solved())
        Recorder(course.root, LAB).record({"ann": graded(course, "ann", odd.solved())})
    Recorder(ours.root, LAB).prepare()
    theirs.run("generate_assignment", LAB, "--force")
    assert told(ours) == told(theirs)


@pytest.mark.parametrize("edit", [added, taken_out, renamed, a_task])
def test_a_lab_that_somebody_has_handed_in_keeps_its_cells(course_template: Path, tmp_path: Path, edit: Edit) -> None:
    course = changed(course_template, tmp_path / "course", edit)
    course.submit("ann", odd.solved())
    recorder = Recorder(course.root, LAB)
    recorder.record({"ann": graded(course, "ann", odd.solved())})
    before = told(course)
    with pytest.raises(CourseError):
        recorder.prepare()
    assert told(course) == before


def test_a_lab_that_is_there_is_not_asked_for_cell_by_cell(course_template: Path, tmp_path: Path) -> None:
    """SQLAlchemy looks twice before it removes a cell, for grades and for comments; nbgrader alone asks some seven times more."""

    def many(source: odd.NotebookDict) -> None:
        check = {"grade": True, "locked": True, "points": 1}
        source["cells"] += [odd.code(f"more-{number}", 'check("more")', **check) for number in range(20)]

    def statements(edit: Edit) -> int:
        course = changed(course_template, tmp_path / edit.__name__, edit)
        Recorder(course.root, LAB).prepare()
        recorder = Recorder(course.root, LAB)  # which finds all of it there
        asked: list[str] = []
        event.listen(recorder.gradebook.engine, "before_cursor_execute", lambda *args: asked.append(args[2]))
        recorder.prepare()
        return len(asked)

    assert statements(many) - statements(nothing) <= 2 * 20


def test_nothing_is_remembered_for_who_looks_later(course_template: Path, tmp_path: Path) -> None:
    course = changed(course_template, tmp_path / "course", nothing)
    ours = OpenGradebook(course.db_url, "normalization")
    with ours.waiting(), ours.knowing():
        assert ours.find_grade_cell("double", LAB, LAB).max_score == 2
        with pytest.raises(MissingEntry):
            ours.find_task_cell("double", LAB, LAB)
        with pytest.raises(MissingEntry):
            ours.find_notebook("another", LAB)
    with course.gradebook() as theirs:
        theirs.find_grade_cell("double", LAB, LAB).max_score = 5
        theirs.add_notebook("another", LAB)
    assert ours.find_grade_cell("double", LAB, LAB).max_score == 5
    assert ours.find_notebook("another", LAB).name == "another"
    ours.close()
