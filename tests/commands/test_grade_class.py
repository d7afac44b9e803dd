"""`autograder grade`: a class in a real course folder, graded in the sandbox by the program itself.

The course is the tiny lab of tests/plugins; the class holds what classes hold. One run is shared by most tests.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from nbgrader.api import Gradebook

from tests.plugins.conftest import LAB, Course, course_template
from tests.submissions import odd

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]
__all__ = ["course_template"]  # a fixture of the plug-ins' tests, used here as well

SQUARED = "def double(x):\n    return x * x\n"
LOOP = "while True:\n    pass\n"
EXITS = "import os\nos._exit(0)\n"
SCRIPT = "from IPython.display import HTML, display\ndisplay(HTML('<script>alert(1)</script>'))\n" + odd.DOUBLE


@dataclass(frozen=True)
class Run:
    """One call of the program."""

    code: int
    out: str
    err: str


def autograder(course: Course, *words: str) -> Run:
    """Run `autograder` in the course's folder."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "100"}
    env.pop("NORMALIZATION_COURSE", None)
    done = subprocess.run(
        [sys.executable, "-m", "autograder", *words],
        cwd=course.root,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Run(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def graded(course_template: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Course, Run]:
    root = tmp_path_factory.mktemp("class") / "course"
    shutil.copytree(course_template, root)
    course = Course(root)
    course.submit("ann", odd.solved())
    course.submit("bob", odd.solved(double=SQUARED))
    course.submit("cal", odd.solved(double=SQUARED))
    course.submit("dee", odd.solved(double=LOOP))
    course.submit("eve", odd.solved(triple=EXITS))
    course.submit("fay", odd.as_bytes(odd.solved())[:300])
    course.submit("gil", odd.solved(double=SCRIPT))
    (root / "submitted" / "hal" / LAB).mkdir(parents=True)
    (root / "submitted" / "ivo" / LAB).mkdir(parents=True)
    (root / "submitted" / "ivo" / LAB / f"{LAB}.ipynb").symlink_to(root / "submitted" / "ann" / LAB / f"{LAB}.ipynb")
    return course, autograder(course, "grade", LAB, "--seed=7", "--cell=4", "--jobs=2")


@pytest.fixture
def own(course_template: Path, tmp_path: Path) -> Course:
    """A course of two, for one test."""
    root = tmp_path / "course"
    shutil.copytree(course_template, root)
    course = Course(root)
    course.submit("ann", odd.solved())
    course.submit("bob", odd.solved(double=SQUARED))
    return course


POINTS = {"ann": 5, "bob": 3, "cal": 3, "dee": 3, "eve": 2, "fay": 0, "gil": 5, "hal": 0, "ivo": 0}


def report(course: Course, student: str) -> dict[str, object]:
    """The JSON report of one student."""
    found: dict[str, object] = json.loads((course.root / "reports" / LAB / f"{student}.json").read_text())
    return found


@pytest.mark.parametrize(("student", "points"), POINTS.items())
def test_everyone_gets_a_report_and_the_points_that_are_due(
    graded: tuple[Course, Run], student: str, points: float
) -> None:
    course, run = graded
    assert run.code == 0, run.err
    assert "Warning" not in run.err
    assert report(course, student)["points"] == points


@pytest.mark.parametrize(("student", "points"), POINTS.items())
def test_the_gradebook_holds_the_same_points(graded: tuple[Course, Run], student: str, points: float) -> None:
    scores = graded[0].scores(student)
    assert (scores["double"] or 0) + (scores["triple"] or 0) == points


@pytest.mark.parametrize("student", ["ann", "bob", "dee", "eve", "fay", "gil"])
def test_every_notebook_has_a_feedback_page_without_the_students_scripts(
    graded: tuple[Course, Run], student: str
) -> None:
    page = (graded[0].root / "feedback" / student / LAB / f"{LAB}.html").read_text()
    assert "points" in page
    assert "<script" not in page


@pytest.mark.parametrize(
    ("student", "words"),
    [
        ("dee", "ran for more than 4 s"),
        ("eve", "left out of the rest of the run"),
        ("fay", "broken upload"),
        ("hal", "was not handed in"),
        ("ivo", "is a link"),
    ],
)
def test_what_was_odd_is_said_in_a_plain_sentence(graded: tuple[Course, Run], student: str, words: str) -> None:
    assert words in json.dumps(report(graded[0], student))


def test_the_table_and_the_most_common_mistake_are_printed(graded: tuple[Course, Run]) -> None:
    out = graded[1].out
    assert all(student in out for student in POINTS)
    assert "2 students: The value is multiplied by itself, not by two" in out


def test_nothing_of_the_linked_notebook_was_graded(graded: tuple[Course, Run]) -> None:
    assert report(graded[0], "ivo")["points"] == 0


def test_the_same_seed_gives_the_same_reports_and_keeps_what_a_person_wrote(graded: tuple[Course, Run]) -> None:
    course = graded[0]
    before = {s: (course.root / "reports" / LAB / f"{s}.json").read_bytes() for s in ("ann", "bob", "eve")}
    with course.gradebook() as gradebook:
        grade = gradebook.find_grade("why", LAB, LAB, "bob")
        grade.manual_score, grade.needs_manual_grade = 3.5, False
        comment = gradebook.find_comment("why", LAB, LAB, "bob")
        comment.manual_comment = "Half right."
        gradebook.db.commit()
    run = autograder(course, "grade", LAB, "--seed=7", "--student=ann", "--student=bob", "--student=eve", "--json")
    assert run.code == 0, run.err
    assert {s: (course.root / "reports" / LAB / f"{s}.json").read_bytes() for s in before} == before
    with Gradebook(f"sqlite:///{course.root / 'gradebook.db'}", "normalization") as gradebook:
        assert gradebook.find_grade("why", LAB, LAB, "bob").manual_score == 3.5
        assert gradebook.find_comment("why", LAB, LAB, "bob").manual_comment == "Half right."
    said = json.loads(run.out)
    assert [student["student"] for student in said["students"]] == ["ann", "bob", "eve"]
    assert said["seed"] == 7
    assert said["common_mistakes"] == [{"title": "The value is multiplied by itself, not by two", "students": 1}]


def test_without_a_sandbox_every_report_says_so(graded: tuple[Course, Run]) -> None:
    course = graded[0]
    run = autograder(course, "grade", LAB, "--seed=8", "--student=ann", "--no-sandbox")
    assert run.code == 0, run.err
    assert "WITHOUT a sandbox" in run.out
    assert "none" in str(report(course, "ann")["sandbox"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("grade", LAB, "--student=zoe"), "zoe handed in nothing"),
        (("grade", "lab77_none"), "There is no lab 'lab77_none'"),
        (("grade", LAB, "--jobs=0"), "--jobs must be at least 1"),
        (("grade", LAB, "--cell=0"), "wall_cell_s must be above zero"),
    ],
)
def test_wrong_words_end_with_2_and_a_sentence(
    graded: tuple[Course, Run], words: tuple[str, ...], sentence: str
) -> None:
    run = autograder(graded[0], *words)
    assert run.code == 2
    assert sentence in run.err
    assert "Traceback" not in run.err


def stamps(course: Course) -> dict[str, int]:
    """When each report was written."""
    return {path.stem: path.stat().st_mtime_ns for path in (course.root / "reports" / LAB).glob("*.json")}


def written(course: Course, *words: str) -> tuple[set[str], Run]:
    """Whose report a run wrote, and the run."""
    before = stamps(course)
    run = autograder(course, "grade", LAB, "--cell=4", "--jobs=1", *words)
    assert run.code == 0, run.err
    return {student for student, stamp in stamps(course).items() if before.get(student) != stamp}, run


def test_a_run_that_was_stopped_goes_on_and_what_is_unchanged_keeps_its_grade(own: Course) -> None:
    """The rest meets the same scenarios; the table shows everyone; a word is enough to run all of it again."""
    assert written(own, "--seed=7")[0] == {"ann", "bob"}
    ledger = own.root / "reports" / f"{LAB}.ledger.json"
    kept = json.loads(ledger.read_text())
    del kept["entries"]["bob"]
    ledger.write_text(json.dumps({**kept, "open_seed": 7}))
    rest, run = written(own)
    assert rest == {"bob"}
    assert report(own, "bob")["seed"] == 7
    assert "1 of them unchanged" in run.out
    assert all(words in run.out for words in ("ann", "5/5", "bob", "3/5"))
    assert json.loads(ledger.read_text())["open_seed"] is None
    assert written(own, "--again")[0] == {"ann", "bob"}
    assert report(own, "ann")["seed"] != 7


def test_a_broken_lab_is_told_once_and_nobody_has_a_grade(own: Course) -> None:
    """The reference fails for everybody: one line says so, and for how many."""
    checks = own.root / "solutions" / LAB / "checks.py"
    text = checks.read_text()
    assert text.count("return 3 * x") == 1
    checks.write_text(text.replace("return 3 * x", "return 3 * y"))
    run = autograder(own, "grade", LAB, "--seed=7", "--jobs=1")
    assert run.code == 3
    assert run.err.count("The reference fails in triple") == 1
    assert "not graded: 2 submissions (ann, bob)" in run.err
    assert stamps(own) == {}


def test_a_grader_that_is_killed_leaves_no_process_and_goes_on_where_it_was(own: Course) -> None:
    """Workers, templates and kernels end with the command, although nobody is left to tell them."""
    own.submit("bob", odd.solved(double="import time\nwhile True:\n    time.sleep(0.1)\n"))
    words = [sys.executable, "-m", "autograder", "grade", LAB, "--seed=7", "--jobs=2"]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    env.pop("NORMALIZATION_COURSE", None)
    command = subprocess.Popen(words, cwd=own.root, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        me = psutil.Process(command.pid)
        deadline = time.monotonic() + 120
        while not (own.root / "reports" / LAB / "ann.json").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        helpers = me.children(recursive=True)
        assert len(helpers) > 4  # the workers, a template and its box, a kernel
    finally:
        command.kill()
        command.wait()
    _, alive = psutil.wait_procs(helpers, timeout=30)
    assert [process.pid for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []
    own.submit("bob", odd.solved(double=SQUARED))
    run = autograder(own, "grade", LAB, "--jobs=1")
    assert run.code == 0, run.err
    assert report(own, "bob")["seed"] == 7


def test_a_grader_that_is_interrupted_records_what_is_graded_by_then(own: Course) -> None:
    """Not only whole batches: in a small class, or where the last worker of a cluster is gone, that would be nobody."""
    own.submit("bob", odd.solved(double="import time\nwhile True:\n    time.sleep(0.1)\n"))
    words = [sys.executable, "-m", "autograder", "grade", LAB, "--seed=7", "--jobs=2", "--cell=4"]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    env.pop("NORMALIZATION_COURSE", None)
    command = subprocess.Popen(words, cwd=own.root, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not (own.root / "reports" / LAB / "ann.json").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        command.send_signal(signal.SIGINT)
        assert command.wait(60) != 0
    finally:
        command.kill()
    assert set(json.loads((own.root / "reports" / f"{LAB}.ledger.json").read_text())["entries"]) == {"ann"}
    assert own.scores("ann") == {"double": 2.0, "triple": 3.0, "why": None}
    own.submit("bob", odd.solved(double=SQUARED))
    assert written(own)[0] == {"bob"}
