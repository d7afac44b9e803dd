"""The one writer of a class run does what nbgrader does for each student alone, only for many at once.

The class is recorded twice: by `Recorder`, and by nbgrader's own Autograde and GenerateFeedback, one student after the other, with
notebooks that are graded already. Then every file and every row must be the same. Nothing runs in a sandbox here.
"""

from __future__ import annotations

import copy
import gc
import shutil
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy import text

from autograder.errors import CourseError
from autograder.grading.grade import Graded
from autograder.grading.outputs import scoring
from autograder.grading.report import CheckResult
from autograder.plugins.converters import RecordAutograde, RecordFeedback, _only_notebooks
from autograder.plugins.database import patient_url
from autograder.plugins.gradebook import OpenGradebook
from autograder.plugins.record import Recorder
from tests.plugins.conftest import LAB, Course
from tests.plugins.recording import MAX, by_nbgrader, by_us, files, graded, results_of, rows
from tests.submissions import odd

LATE = """
from nbgrader.plugins import LateSubmissionPlugin
class Half(LateSubmissionPlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return {"too-much": 100.0, "too-little": -1.0}.get(student_id, score / 2)
c.AssignLatePenalties.plugin_class = Half
"""


@pytest.fixture(scope="module")
def prepared(course_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The course with a due date, a late penalty, and one submission of every kind."""
    root = tmp_path_factory.mktemp("prepared") / "course"
    shutil.copytree(course_template, root)
    course = Course(root)
    (root / "nbgrader_config.py").write_text((root / "nbgrader_config.py").read_text() + LATE)
    (root / "_build" / "source" / LAB / "table.csv").write_text("ours")
    with course.gradebook() as gradebook:
        gradebook.update_or_create_assignment(LAB, duedate="2030-01-01 12:00:00 UTC")
    for student in (
        "right",
        "wrong",
        "some",
        "noted",
        "silent",
        "late",
        "too-much",
        "too-little",
        "early",
        "again",
        "e x+t",
    ):
        course.submit(student, odd.solved())
    for student, time in (("late", 2), ("too-much", 3), ("too-little", 4), ("early", -5), ("again", 9)):
        path = root / "submitted" / student / LAB / "timestamp.txt"
        path.write_text(f"2030-01-01 {12 + time:02d}:00:00 UTC")
    course.submit("renamed", odd.solved()).rename(root / "submitted" / "renamed" / LAB / f"{LAB} (1).ipynb")
    folder = root / "submitted" / "noted" / LAB
    (folder / "data").mkdir()
    (folder / "data" / "notes.txt").write_text("mine")
    (folder / "table.csv").write_text("not ours")
    shutil.copy(folder / f"{LAB}.ipynb", folder / "scratch.ipynb")
    return root


def hand_graded(course: Course) -> None:
    """What a person does between two runs."""
    with course.gradebook() as gradebook:
        for student in ("again", "right"):
            grade = gradebook.find_grade("why", LAB, LAB, student)
            grade.manual_score, grade.needs_manual_grade, grade.extra_credit = 3.5, False, 0.5
            gradebook.find_comment("why", LAB, LAB, student).manual_comment = "Good, but why *linear*?"
        gradebook.find_grade("double", LAB, LAB, "wrong").manual_score = 1.0
        gradebook.find_submission(LAB, "late").extension = None
        gradebook.grant_extension(LAB, "too-much", hours=24)
        gradebook.db.commit()


@dataclass(frozen=True)
class Left:
    """What a run left behind."""

    files: dict[str, tuple[int, bytes]]
    rows: dict[str, list[tuple[Any, ...]]]


def two_runs(course: Course, record: Callable[[Course, Mapping[str, Graded]], None]) -> list[Left]:
    """Record the class, let a person grade, and record it again with other results."""
    left = []
    for second in (False, True):
        record(course, results_of(course, second=second))
        left.append(Left(files(course), rows(course.db_url)))
        hand_graded(course)
    return left


@pytest.fixture(scope="module")
def stock(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Left]:
    """What nbgrader leaves, one student after the other."""
    root = tmp_path_factory.mktemp("stock") / "course"
    shutil.copytree(prepared, root)
    return two_runs(Course(root), by_nbgrader)


@pytest.mark.parametrize("batch", [1, 5, 100])
def test_many_at_once_leave_what_nbgrader_leaves_for_one_after_the_other(
    stock: list[Left], prepared: Path, tmp_path: Path, batch: int
) -> None:
    """All files byte by byte with their permissions, all rows; then again, after a person has graded."""
    shutil.copytree(prepared, tmp_path / "course")
    ours = two_runs(Course(tmp_path / "course"), partial(by_us, batch=batch))
    for one, other in zip(ours, stock, strict=True):
        assert one.files == other.files
        assert one.rows == other.rows


def test_the_class_above_holds_what_it_is_for(stock: list[Left]) -> None:
    """Were penalties, comments or a person's grades all alike, the comparison would show nothing."""
    first, second = stock
    assert len(second.rows["student"]) == len(second.rows["notebook"]) == 12
    assert {row[0]: row[2] for row in second.rows["notebook"] if row[2] is not None} == (
        {"late": 1.5, "too-little": 0.0, "again": 3.0}
    )
    assert first.rows != second.rows
    assert ("silent", "why", "No response.", None) in second.rows["comment"]
    assert ("again", "why", None, "Good, but why *linear*?") in second.rows["comment"]
    assert ("again", "why", None, 3.5, 0.5, True) in second.rows["grade"]
    made = second.files
    assert made[f"autograded/noted/{LAB}/table.csv"][1] == b"ours"
    assert made[f"autograded/noted/{LAB}/data/notes.txt"][1] == b"mine"
    assert f"autograded/noted/{LAB}/scratch.ipynb" not in made
    page = made[f"feedback/again/{LAB}/{LAB}.html"][1].decode()
    assert "but why <em>linear</em>?" in page
    assert "points were taken off for handing in late" in page


@dataclass
class Small:
    """A course for one test, with its recorder."""

    course: Course
    recorder: Recorder


@pytest.fixture
def small(course_template: Path, tmp_path: Path) -> Iterator[Small]:
    shutil.copytree(course_template, tmp_path / "course")
    course = Course(tmp_path / "course")
    for student in ("ann", "bob"):
        course.submit(student, odd.solved())
    recorder = Recorder(course.root, LAB)
    yield Small(course, recorder)
    recorder.close()


def test_nothing_handed_in_is_zero_and_makes_no_page(small: Small) -> None:
    for folder in ("none", "two-names"):
        (small.course.root / "submitted" / folder / LAB).mkdir(parents=True)
    for name in ("a.ipynb", "b.ipynb"):
        (small.course.root / "submitted" / "two-names" / LAB / name).write_bytes(odd.as_bytes(odd.solved()))
    students = ("ann", "none", "two-names")
    small.recorder.record({s: graded(small.course, s, odd.solved(), *([] if s == "ann" else MAX)) for s in students})
    assert {s: small.recorder.scores()[s][0] for s in students} == {"ann": 5.0, "none": 0.0, "two-names": 0.0}
    assert [path.parts[-3] for path in (small.course.root / "feedback").rglob("*.html")] == ["ann"]


def test_scores_are_those_that_nbgrader_adds_up(small: Small) -> None:
    small.recorder.record({s: graded(small.course, s, odd.solved(), "/double") for s in ("ann", "bob")})
    with small.course.gradebook() as gradebook:
        grade = gradebook.find_grade("why", LAB, LAB, "bob")
        grade.manual_score, grade.needs_manual_grade = 4.0, False
        gradebook.db.commit()
        found = {
            s.student.id: (s.score, s.max_score, s.needs_manual_grade) for s in gradebook.assignment_submissions(LAB)
        }
    assert small.recorder.scores() == {who: pytest.approx(row) for who, row in found.items()}
    assert found == {"ann": (pytest.approx(2 / 3 + 3), 9.0, True), "bob": (pytest.approx(2 / 3 + 7), 9.0, False)}


def test_one_that_cannot_be_written_is_named_and_costs_the_others_nothing(small: Small) -> None:
    """The report says something else than the notebook: ours to mend, and no reason to lose a class."""
    wrong = graded(small.course, "ann", odd.solved())
    wrong.notebook.cells[4].outputs = scoring(CheckResult("double", "", "", 0.0, 2.0, False, "no"))
    with pytest.raises(CourseError, match=r"make the notebook and the checks of lab09_tiny agree"):
        small.recorder.record({"ann": wrong, "bob": graded(small.course, "bob", odd.solved())})
    assert small.recorder.scores()["bob"][0] == 5.0
    assert (small.course.root / "feedback" / "bob" / LAB / f"{LAB}.html").is_file()
    assert not (small.course.root / "autograded" / "ann" / LAB).exists()


@pytest.mark.parametrize("kind", [RecordAutograde, RecordFeedback])
def test_an_interruption_is_no_failure_to_record_somebody(
    small: Small, monkeypatch: pytest.MonkeyPatch, kind: type[Any]
) -> None:
    """nbgrader would hold it for one; the batch is then recorded anew."""
    results = {who: graded(small.course, who, odd.solved()) for who in ("ann", "bob")}
    own = kind.convert_single_notebook

    def interrupted(converter: Any, path: str) -> None:
        if "bob" in Path(path).parts:
            raise KeyboardInterrupt
        own(converter, path)

    with monkeypatch.context() as for_once:
        for_once.setattr(kind, "convert_single_notebook", interrupted)
        with pytest.raises(KeyboardInterrupt):
            small.recorder.record(results)
    pages = [small.course.root / "feedback" / who / LAB / f"{LAB}.html" for who in results]
    assert not pages[1].exists()
    small.recorder.record(results)
    assert {who: row[0] for who, row in small.recorder.scores().items()} == {"ann": 5.0, "bob": 5.0}
    assert all(page.is_file() for page in pages)


def test_a_name_that_is_a_pattern_is_a_name(small: Small) -> None:
    """nbgrader looks for folders with wildcards, and would find nobody, or another one."""
    small.course.submit("a[b]", odd.solved())
    small.recorder.record({"a[b]": graded(small.course, "a[b]", odd.solved(), "double")})
    assert small.recorder.scores() == {"a[b]": (3.0, 9.0, True)}


def test_a_step_of_the_courses_own_sees_the_gradebook_as_with_nbgrader(small: Small) -> None:
    """It may open a gradebook of its own, so nothing may wait for the end of the batch, and no lock may be held."""
    own = """
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
class Curve(NbGraderPreprocessor):
    def preprocess(self, nb, resources):
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            grade = gradebook.find_grade("double", names["notebook"], names["assignment"], names["student"])
            grade.extra_credit = 1 + grade.auto_score
            gradebook.db.commit()
        return nb, resources
c.Autograde.autograde_preprocessors.insert(2, Curve)
"""
    config = small.course.root / "nbgrader_config.py"
    config.write_text(config.read_text() + own)
    recorder = Recorder(small.course.root, LAB)
    recorder.record({s: graded(small.course, s, odd.solved()) for s in ("ann", "bob")})
    assert {s: row[0] for s, row in recorder.scores().items()} == {"ann": 8.0, "bob": 8.0}
    recorder.close()


RETITLED = """
import json
from pathlib import Path
def retitle(assignment, student, notebooks):
    path = Path("autograded") / student / assignment / f"{assignment}.ipynb"
    path.chmod(0o644)
    notebook = json.loads(path.read_text())
    notebook["cells"][0]["source"] = ["# Another title"]
    path.write_text(json.dumps(notebook))
"""
STEP = """
from nbgrader.preprocessors import NbGraderPreprocessor
class Retitle(NbGraderPreprocessor):
    def preprocess(self, nb, resources):
        nb.cells[0].source = "# Another title"
        return nb, resources
"""
EXPORTER = """
from autograder.plugins.feedback import FeedbackExporter
from autograder.plugins.sanitize import SubmissionExporter
class Retitled:
    def from_notebook_node(self, nb, resources=None, **kw):
        text, resources = super().from_notebook_node(nb, resources, **kw)
        return text.replace("Two functions", "Another title"), resources
class Page(Retitled, FeedbackExporter):
    pass
class Submission(Retitled, SubmissionExporter):
    pass
"""


@pytest.mark.parametrize(
    "own",
    [
        RETITLED + "c.Autograde.post_convert_hook = retitle",
        RETITLED + "c.GenerateFeedback.pre_convert_hook = retitle",
        STEP + "c.Autograde.autograde_preprocessors.insert(1, Retitle)",
        STEP + "c.GenerateFeedback.preprocessors.insert(0, Retitle)",
        EXPORTER + "c.GenerateFeedback.exporter_class = Page",
        EXPORTER + "c.Autograde.exporter_class = Submission",
    ],
)
def test_what_a_course_does_to_a_notebook_is_seen_on_the_page(small: Small, own: str) -> None:
    """The page is made from what was just written, and not read again, only where nobody else had it in hand."""
    config = small.course.root / "nbgrader_config.py"
    config.write_text(config.read_text() + own)
    recorder = Recorder(small.course.root, LAB)
    recorder.record({s: graded(small.course, s, odd.solved()) for s in ("ann", "bob")})
    for student in ("ann", "bob"):
        page = recorder.feedback_page(student).read_text()
        assert "Another title" in page
        assert "Two functions" not in page
    recorder.close()


def test_what_is_recorded_is_not_changed_by_recording_it(small: Small) -> None:
    """But for the report, which goes into the notebook: scores and comments of the gradebook are the page's."""
    given = graded(small.course, "ann", odd.solved())
    cells = copy.deepcopy(given.notebook.cells)
    small.recorder.record({"ann": given})
    assert given.notebook.cells == cells


def test_notebooks_are_gone_when_they_are_recorded(small: Small) -> None:
    """By themselves: a class would otherwise lie in memory until Python looks for rubbish, which takes long."""
    alive: list[weakref.ref[Any]] = []
    gc.collect()
    gc.disable()
    try:
        results = {student: graded(small.course, student, odd.solved()) for student in ("ann", "bob")}
        alive += [weakref.ref(given.report) for given in results.values()]
        small.recorder.record(results)
        del results
        assert [one() for one in alive] == [None, None]
    finally:
        gc.enable()


def test_what_lies_beside_a_notebook_is_seen(tmp_path: Path) -> None:
    """Nobody looks further where nothing does; a hidden file, a folder and a link to nowhere are not nothing."""
    (tmp_path / f"{LAB}.ipynb").touch()
    assert _only_notebooks(str(tmp_path))
    assert not _only_notebooks(str(tmp_path / "nowhere"))
    for make in (
        lambda path: path.with_name("data.csv").touch(),
        lambda path: path.with_name(".hidden.ipynb").touch(),
        lambda path: path.with_name("folder.ipynb").mkdir(),
        lambda path: path.with_name("link.ipynb").symlink_to("nowhere"),
    ):
        folder = tmp_path / "one"
        folder.mkdir()
        make(folder / f"{LAB}.ipynb")
        assert not _only_notebooks(str(folder))
        shutil.rmtree(folder)


def test_the_gradebook_is_opened_once_and_asked_seldom(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a batch costs must not grow with students times cells."""
    from sqlalchemy import event

    opened: list[str] = []
    monkeypatch.setattr(Gradebook, "__init__", _counting(Gradebook.__init__, opened))
    asked: list[str] = []
    event.listen(small.recorder.gradebook.engine, "before_cursor_execute", lambda *args: asked.append(args[2]))

    def statements(students: Sequence[str]) -> int:
        for student in students:
            small.course.submit(student, odd.solved())
        before = len(asked)
        small.recorder.record({student: graded(small.course, student, odd.solved()) for student in students})
        return len(asked) - before

    few, many = statements(["s1", "s2"]), statements([f"t{number}" for number in range(12)])
    assert len(opened) == 1
    assert many - few <= 3


def _counting(real: Callable[..., None], calls: list[str]) -> Callable[..., None]:
    def counted(self: Any, *args: Any, **kwargs: Any) -> None:
        calls.append(str(args))
        real(self, *args, **kwargs)

    return counted


@pytest.mark.parametrize(
    ("query", "timeout_ms"), [("", 60_000), ("?timeout=7", 7_000), ("?check_same_thread=false", 60_000)]
)
def test_sqlite_waits_a_minute_unless_the_address_says_otherwise(tmp_path: Path, query: str, timeout_ms: int) -> None:
    gradebook = OpenGradebook(f"sqlite:///{tmp_path / 'book.db'}{query}", "normalization")
    assert gradebook.db.execute(text("PRAGMA busy_timeout")).scalar() == timeout_ms
    gradebook.close()


def test_other_databases_are_left_to_their_own_options() -> None:
    assert dict(patient_url("postgresql+psycopg://host/grades").query) == {}


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("gradebook.db", "no address of a database"),
        ("oracel://host/grades", "no address of a database"),
        ("sqlite:////nowhere/at/all/book.db", "cannot be opened"),
        ("postgresql+psycopg://ada:secret@localhost:1/grades", "cannot be opened"),
        ("postgresql+pg8000://localhost/grades", "needs the package"),
    ],
)
def test_a_gradebook_that_cannot_be_opened_is_named_without_its_password(url: str, words: str) -> None:
    with pytest.raises(CourseError, match=words) as raised:
        OpenGradebook(url, "normalization")
    assert "secret" not in str(raised.value)


def test_prepare_makes_the_gradebook_before_anybody_is_graded(course_template: Path, tmp_path: Path) -> None:
    shutil.copytree(course_template, tmp_path / "course")
    course = Course(tmp_path / "course")
    (course.root / "gradebook.db").unlink()
    release = (course.root / "labs" / LAB / f"{LAB}.ipynb").read_bytes()
    Recorder(course.root, LAB).prepare()
    with course.gradebook() as gradebook:
        assert [cell.name for cell in gradebook.find_assignment(LAB).notebooks[0].grade_cells] == [
            "double",
            "triple",
            "why",
        ]
    assert (course.root / "labs" / LAB / f"{LAB}.ipynb").read_bytes() == release


def test_recording_without_the_lab_says_what_to_run(small: Small) -> None:
    with small.course.gradebook() as gradebook:
        gradebook.remove_assignment(LAB)
    with pytest.raises(CourseError, match=f"nbgrader generate_assignment {LAB}"):
        small.recorder.record({"ann": graded(small.course, "ann", odd.solved())})


@contextmanager
def batch_of(small: Small, *students: str) -> Iterator[OpenGradebook]:
    with small.recorder.gradebook.batch(LAB, students):
        yield small.recorder.gradebook


def test_a_batch_that_breaks_off_leaves_the_gradebook_as_it_was(small: Small) -> None:
    def broken_off() -> None:
        with batch_of(small, "ann") as gradebook:
            gradebook.update_or_create_student("ann")
            gradebook.update_or_create_submission(LAB, "ann")
            gradebook.db.flush()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert small.recorder.scores() == {}


def test_who_is_not_of_the_batch_is_looked_up(small: Small) -> None:
    small.recorder.record({"ann": graded(small.course, "ann", odd.solved())})
    with batch_of(small, "bob") as gradebook:
        assert gradebook.find_grade("double", LAB, LAB, "ann").auto_score == 2.0
        assert gradebook.find_comment("why", LAB, LAB, "ann").auto_comment is None
        assert gradebook.find_student("ann").id == gradebook.find_submission(LAB, "ann").student_id == "ann"
        for missing in (lambda: gradebook.find_student("zoe"), lambda: gradebook.find_submission(LAB, "bob")):
            with pytest.raises(MissingEntry):
                missing()
