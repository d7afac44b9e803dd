"""Every lab as a student meets it: gentle stubs, checks that speak plainly, a solution that runs to the end.

What a lab's own words and numbers promise is tested in test_labNN_notebook.py. Whether its parts fit, `labs lint` says.
"""

from __future__ import annotations

import base64
import itertools
import re
from pathlib import Path

import pytest
from lab_runs import cell, error, printed, released, solved, text, untouched
from nbformat import NotebookNode

from autograder.authoring.lint import lint
from autograder.authoring.material import behaviours_of
from autograder.authoring.release import labs
from autograder.authoring.stubs import CODE_STUB, TEXT_STUB
from autograder.checks.check import Lab
from autograder.grading.course import load_lab

ROOT = Path(__file__).resolve().parents[2]
SAYS_WHAT_TO_DO = re.compile(r"Write your answer where the cell says so|Set \w+ to |Run the cell that defines it")
FOREIGN_FRAME = re.compile(
    r"autograder[/\\](probe|student|checks|trace)|site-packages|dist-packages|lib/python3|<frozen"
)


@pytest.fixture(scope="module", params=labs(ROOT))
def name(request: pytest.FixtureRequest) -> str:
    """One lab after the other, so that a lab's notebook runs once for all tests."""
    return request.param


@pytest.fixture(scope="module")
def lab(name: str) -> Lab:
    """Its checks."""
    return load_lab(ROOT, name)


def marked(notebook: NotebookNode, word: str) -> list[NotebookNode]:
    """The cells of which nbgrader's metadata says so."""
    return [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get(word)]


def code(notebook: NotebookNode) -> list[NotebookNode]:
    """The code cells."""
    return [c for c in notebook.cells if c.cell_type == "code"]


def test_a_lab_is_all_of_a_piece(name: str) -> None:
    """`autograder labs lint` has nothing to say about it."""
    assert lint(ROOT, [name]) == []


def test_what_is_graded_is_said_in_what_students_get(name: str) -> None:
    """A student can only be graded on what was said; lint reads the author's text, this the released one."""
    said = text(released(name))
    patterns = behaviours_of(ROOT, name)
    assert len(patterns) >= 20
    assert [behaviour for behaviour, pattern in patterns.items() if not re.search(pattern, said, re.DOTALL)] == []


def test_each_check_has_its_cell_its_points_and_nothing_but_the_check(name: str, lab: Lab) -> None:
    """In the order of LAB, locked; then the written answer, for a person."""
    graded = {c.id: c for c in marked(released(name), "grade")}
    assert list(graded) == [*(check.name for check in lab.checks), "written-answer"]
    assert graded.pop("written-answer").metadata.nbgrader.points == 6
    for check in lab.checks:
        own = graded[check.name]
        assert own.metadata.nbgrader.points == check.points
        assert own.source == f'check("{check.name}")'
        assert own.metadata.nbgrader.locked
        assert not own.metadata.nbgrader.solution


def test_a_lab_has_the_parts_that_every_lab_has(name: str, lab: Lab) -> None:
    """Objectives, a time, a prediction, the lesson of the first version, an experiment, a rubric, a stretch exercise."""
    said = text(released(name))
    for part in ("When you are done you can", "What the first version of this lab got wrong"):
        assert part in " ".join(said.split())
    assert re.search(r"\*\*Time:\*\* [6-8]\d to [7-9]\d minutes", said)
    assert any(check.secret for check in lab.checks)
    assert re.search(r"^#+ .*[Pp]redict", said, re.MULTILINE)
    assert re.search(r"^#+ .*Stretch \(no points\)", said, re.MULTILINE)
    assert re.search(r"^\| .*2 points.*1 point.*0 points", said, re.MULTILINE)
    assert 60 <= sum(check.points for check in lab.checks) + 6 <= 90


def test_stubs_stand_where_solutions_stood(name: str) -> None:
    """Each solution cell holds the stub, and says nothing else that runs before it is replaced but its own frame."""
    cells = marked(released(name), "solution")
    assert [c.id for c in cells if not (c.id.startswith("solve-") or c.id == "written-answer")] == []
    for own in cells:
        stub = TEXT_STUB if own.cell_type == "markdown" else CODE_STUB.splitlines()[1]
        assert stub in own.source
        assert "SOLUTION" not in own.source


def test_the_set_up_comes_first_and_installs_the_course_in_colab(name: str) -> None:
    """And it is the same in all labs, but for what it imports."""
    notebook = released(name)
    first = code(notebook)[0]
    assert first.id == "set-up"
    assert first.metadata.nbgrader.locked
    own = code(released(labs(ROOT)[0]))[0].source
    assert own[own.index("COURSE =") : own.index("import torch")] in first.source
    assert "google.colab" in first.source
    assert "from autograder.student import check" in first.source


def test_the_experiment_is_skipped_when_grading_and_guards_its_cpu_time(name: str) -> None:
    """It counts the CPU time of its thread: another program on the machine must not cut it off."""
    cells = [c for c in code(released(name)) if "skip-when-grading" in c.metadata.get("tags", [])]
    assert cells
    assert all(c.metadata.nbgrader.locked and not c.metadata.nbgrader.grade for c in cells)
    source = "\n".join(c.source for c in cells)
    assert "time.thread_time()" in source
    assert not re.search(r"time\.(time|perf_counter|monotonic)\(", source)


@pytest.mark.slow
def test_with_nothing_filled_in_every_check_says_what_to_do(name: str, lab: Lab) -> None:
    """On less than a page, with no frame of ours or of a package: at most the student's own."""
    for check in lab.checks:
        found = error(cell(untouched(name), check.name))
        assert found is not None, f"{check.name} passes although nothing is written"
        kind, message, traceback = found
        shown = printed(cell(untouched(name), check.name))
        assert kind == "NotPassed", (check.name, kind, message)
        assert message.startswith(f"{check.name}: not yet"), message
        assert SAYS_WHAT_TO_DO.search(shown), (check.name, shown)
        assert not FOREIGN_FRAME.search(traceback + shown), (check.name, traceback, shown)
        assert len(traceback.splitlines()) == 1, traceback
        assert len(shown.splitlines()) <= 24, shown


@pytest.mark.slow
def test_with_nothing_filled_in_no_cell_puzzles(name: str, lab: Lab) -> None:
    """A cell runs, or says that something is to be written, or what has to run first; no NameError."""
    graded = {check.name for check in lab.checks}
    errors = {c.id: found for c in code(untouched(name)) if c.id not in graded and (found := error(c))}
    for ident, (kind, message, _) in errors.items():
        written = (kind, message) == ("NotImplementedError", "Write this part, and delete this line.")
        explained = kind == "RuntimeError" and re.match(r"[A-Z].{20,}[.?]?$", message, re.DOTALL)
        assert written or explained, (ident, kind, message)


@pytest.mark.slow
def test_the_solved_notebook_runs_to_the_end(name: str, lab: Lab) -> None:
    """No cell fails, and every check says that it passed, or noted a prediction."""
    assert {c.id: found[:2] for c in code(solved(name)) if (found := error(c))} == {}
    for check in lab.checks:
        said = printed(cell(solved(name), check.name))
        assert said.startswith(f"{check.name}: {'noted' if check.secret else 'passed'}"), said


@pytest.mark.slow
def test_the_experiment_is_not_cut_off_by_its_guard(name: str) -> None:
    """A guard that fires on an honest solution would make every figure thin."""
    cells = [c for c in code(solved(name)) if "skip-when-grading" in c.metadata.get("tags", [])]
    said = "\n".join(printed(c) for c in cells)
    assert said.strip()
    assert not re.search(r"Stopped after", said)


@pytest.mark.slow
def test_figures_have_text_alternatives(name: str) -> None:
    """The cell of a figure, or the one before it, prints the numbers too, for those who cannot see it."""
    cells, shown = code(solved(name)), 0
    for before, own in itertools.pairwise(cells):
        for output in own.outputs:
            if "image/png" in output.get("data", {}):
                shown += 1
                assert len(base64.b64decode(output.data["image/png"])) > 10_000
                assert len(re.findall(r"\d+\.\d+", printed(own) + printed(before))) >= 6, own.id
                assert re.search(r"set\([^)]*xlabel|set_xlabel|plt\.xlabel", own.source), f"{own.id} names no axis"
    assert shown
