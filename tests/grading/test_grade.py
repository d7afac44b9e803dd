"""One submission becomes one report: for a notebook or a file, whatever is in it, and the same one each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from fake_kernel import FakeKernel
from nbgrader.utils import determine_grade

from autograder.checks.check import Check
from autograder.grading import run as playing
from autograder.grading.course import CourseLab
from autograder.grading.grade import grade_notebook, grade_source
from autograder.grading.report import SANDBOXED, UNSANDBOXED, Graded, Report
from autograder.grading.submission import UnreadableSubmission
from autograder.sandbox.policy import Limits
from tests.plugins.tiny_lab import LAB
from tests.submissions import odd

RELEASE = nbformat.from_dict(odd.release())
COURSE = CourseLab(LAB, RELEASE, Path("/nowhere"))
LIMITS = Limits(cpu_s=30, wall_cell_s=10, wall_notebook_s=60)
SQUARED = "def double(x):\n    return x * x\n"


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> type[FakeKernel]:
    """Kernels of this process."""

    class Mine(FakeKernel):
        pass

    monkeypatch.setattr(playing, "KernelSession", Mine)
    return Mine


def graded(notebook: odd.NotebookDict | bytes, seed: int = 7, **more: Any) -> Graded:
    """Grade a notebook of the tiny lab."""
    raw = notebook if isinstance(notebook, bytes) else odd.as_bytes(notebook)
    return grade_notebook(raw, COURSE, seed=seed, limits=LIMITS, student="ada", **more)


def points(report: Report) -> dict[str, float]:
    """The points of each check."""
    return {check.name: check.points for check in report.checks}


def scores(found: Graded) -> dict[str, float]:
    """What nbgrader reads from the graded notebook."""
    cells = [c for c in found.notebook.cells if c.metadata.get("nbgrader", {}).get("grade") and c.cell_type == "code"]
    return {cell.metadata.nbgrader.grade_id: float(determine_grade(cell)[0]) for cell in cells}


@pytest.mark.usefixtures("kernel")
def test_a_notebook_that_is_right_gets_full_points() -> None:
    """In the report and in what nbgrader reads."""
    found = graded(odd.solved())
    assert points(found.report) == scores(found) == {"double": 2, "triple": 3}
    assert (found.report.points, found.report.max_points) == (5, 5)
    assert (found.report.lab, found.report.student, found.report.seed) == ("lab09_tiny", "ada", 7)
    assert found.report.notes == ()


@pytest.mark.usefixtures("kernel")
def test_a_mistake_costs_its_exercise_and_is_named() -> None:
    """The other exercise keeps its points."""
    found = graded(odd.solved(double=SQUARED))
    assert points(found.report) == scores(found) == {"double": 0, "triple": 3}
    wrong = found.report.check("double")
    assert wrong is not None
    assert wrong.diagnosis is not None
    assert wrong.diagnosis.id == "double-squares"
    assert wrong.code is not None


@pytest.mark.parametrize(
    ("double", "message"),
    [
        ("def double(x:\n    return 2 * x\n", "double is not defined: the cell that should define it did not finish. SyntaxError"),
        ("1 / 0\ndef double(x):\n    return 2 * x\n", "did not finish. ZeroDivisionError: division by zero"),
        ("doubled = 3\n", "double is not defined: the submission does not define it"),
        ("die()\ndef double(x):\n    return 2 * x\n", "did not finish. The kernel died."),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("kernel")
def test_a_name_that_is_missing_is_explained(double: str, message: str) -> None:
    """By the cell that should have defined it; the rest is graded."""
    found = graded(odd.solved(double=double))
    wrong = found.report.check("double")
    assert wrong is not None
    assert message in wrong.message
    assert points(found.report) == {"double": 0, "triple": 3}


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\x00\x01", UnreadableSubmission("It is a link.")])
def test_an_unreadable_file_is_a_report_of_zero(raw: Any) -> None:
    """With the sentence, for every check; no kernel is started for it."""
    found = grade_notebook(raw, COURSE, seed=7, limits=LIMITS, student="ada")
    assert points(found.report) == scores(found) == {"double": 0, "triple": 0}
    [note] = found.report.notes
    assert note.endswith(".")
    assert {check.message for check in found.report.checks} == {note}


@pytest.mark.usefixtures("kernel")
def test_the_same_seed_gives_the_same_report() -> None:
    """Text by text, for a wrong answer too; another seed draws other numbers."""
    one, two, other = (graded(odd.solved(double=SQUARED), seed).report for seed in (7, 7, 8))
    assert one.text() == two.text()
    assert one.checks[0].code != other.checks[0].code
    assert [check.points for check in one.checks] == [check.points for check in other.checks]


@pytest.mark.usefixtures("kernel")
def test_a_run_without_a_sandbox_says_so() -> None:
    """In the report itself."""
    assert graded(odd.solved()).report.sandbox == SANDBOXED
    assert graded(odd.solved(), sandboxed=False).report.sandbox == UNSANDBOXED


def test_a_cell_of_ours_with_the_tag_is_skipped_and_a_students_is_not(kernel: type[FakeKernel]) -> None:
    """An experiment of ours may be left out; the same tag on an answer skips nothing."""
    release = odd.release()
    release["cells"].insert(2, odd.code("experiment", "die()", locked=True))
    release["cells"][2]["metadata"]["tags"] = ["skip-when-grading"]
    course = CourseLab(LAB, nbformat.from_dict(release), Path("/nowhere"))
    submitted = odd.solved()
    odd.cell(submitted, "solve-double")["metadata"]["tags"] = ["skip-when-grading"]
    found = grade_notebook(odd.as_bytes(submitted), course, seed=7, limits=LIMITS)
    assert points(found.report) == {"double": 2, "triple": 3}
    assert not any("die" in source for source in kernel.ran)


@pytest.mark.usefixtures("kernel")
def test_the_graded_notebook_is_clean() -> None:
    """Valid, and without a result that could be read as a score."""
    found = graded(odd.solved(double="4.0\n" + odd.DOUBLE))
    nbformat.validate(found.notebook)
    kinds = {output.output_type for cell in found.notebook.cells for output in cell.get("outputs", ())}
    assert "execute_result" not in kinds


@pytest.mark.usefixtures("kernel")
def test_a_mention_in_the_source_is_evidence_and_no_verdict() -> None:
    """A person decides; the points stay."""
    found = graded(odd.solved(double="import torch\ndef double(x):\n    torch.nn.BatchNorm1d\n    return 2 * x\n"))
    right = found.report.check("double")
    assert right is not None
    assert right.points == 2
    assert right.evidence == ("the source mentions BatchNorm1d: `torch.nn.BatchNorm1d`",)


# --- files -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "earned", "note"),
    [
        (odd.DOUBLE + odd.TRIPLE, {"double": 2, "triple": 3}, None),
        ("# later\n" + odd.TRIPLE, {"double": 0, "triple": 3}, None),
        ("", {"double": 0, "triple": 0}, None),
        ("# nothing\n", {"double": 0, "triple": 0}, None),
        (odd.DOUBLE + "def triple(x:\n    pass\n", {"double": 2, "triple": 0}, "Line 3 and following (def triple(x:): SyntaxError"),
        (odd.DOUBLE + "1 / 0\n" + odd.TRIPLE, {"double": 2, "triple": 3}, "Line 3 and following (1 / 0): ZeroDivisionError"),
        (odd.DOUBLE + "die()\n" + odd.TRIPLE, {"double": 2, "triple": 3}, "Line 3 and following (die()): The kernel died."),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("kernel")
def test_a_file_is_graded_like_a_notebook(text: str, earned: dict[str, float], note: str | None) -> None:
    """Each of its statements is a cell; what did not run is said with its line."""
    report = grade_source(text, COURSE.lab, seed=7, limits=LIMITS, student="ada")
    assert points(report) == earned
    assert (report.student, report.max_points) == ("ada", 5)
    if note is None:
        assert report.notes == ()
    else:
        assert note in report.notes[0]


@pytest.mark.usefixtures("kernel")
def test_a_file_is_graded_on_the_contract_alone() -> None:
    """What only the notebook asks is left out, and counts for nothing."""
    from dataclasses import replace

    extra = Check("only-here", "half", 9, "half", LAB.checks[0].scenarios, contract=False)
    course = CourseLab(replace(LAB, checks=(*LAB.checks, extra)), RELEASE, Path("/nowhere"))
    report = grade_source(odd.DOUBLE, course.lab, seed=7, limits=LIMITS)
    assert set(points(report)) == {"double", "triple"}
    assert report.max_points == 5


@pytest.mark.sandbox
def test_grading_twice_in_the_box_gives_the_same_text() -> None:
    """With real kernels: nothing of the machine or the clock is in a report."""
    notebook = odd.solved(double=SQUARED, triple="import os, time\nprint(os.getpid(), time.time())\n" + odd.TRIPLE)
    one, two = (graded(notebook).report.text() for _ in range(2))
    assert one == two
    assert '"points": 3' in one
