"""labs/ is made from its sources: byte for byte, nothing more in it, nothing of the answers in it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from autograder.authoring import release
from autograder.errors import CourseError
from autograder.grading.course import load_lab

ROOT = Path(__file__).resolve().parents[2]
LABS = release.labs(ROOT)

TINY = """\
# %% [markdown]
# # A tiny lab

# %% nbgrader={"grade": false, "grade_id": "solve", "locked": false, "schema_version": 3, "solution": true, "task": false}
def double(x):
    ### BEGIN SOLUTION
    return x + x
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "double", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
check("double")
"""  # noqa: E501 - the metadata of a cell stands on one line


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course with one tiny lab."""
    return write(tmp_path, TINY)


def write(course: Path, text: str) -> Path:
    folder = course / "solutions" / "lab09_tiny"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "notebook.py").write_text(text)
    return course


def test_labs_are_fresh():
    """Whoever changes a notebook.py must run `make labs` before committing."""
    assert LABS, "no lab has a source"
    assert release.stale(ROOT) == []


def test_the_same_source_gives_the_same_bytes():
    """Twice in this process, and once more as nbgrader's own command makes it."""
    assert release.student_notebook(ROOT, LABS[0]) == release.student_notebook(ROOT, LABS[0])


@pytest.mark.slow
def test_nbgrader_s_own_command_makes_the_same_file(tmp_path: Path):
    """`nbgrader generate_assignment` from the root, with the course's configuration, and `make labs` agree."""
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    shutil.copytree(ROOT / "solutions" / LABS[0], tmp_path / "solutions" / LABS[0])
    ours = release.make_release(tmp_path, LABS[0], tmp_path / "ours").read_bytes()
    command = [Path(sys.executable).parent / "nbgrader", "generate_assignment", LABS[0]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "labs" / LABS[0] / f"{LABS[0]}.ipynb").read_bytes() == ours


def test_a_change_in_one_cell_changes_one_cell(course: Path):
    """Ids come from grade ids and texts, not from chance and not from the position."""
    before = nbformat.reads(release.student_notebook(course, "lab09_tiny"), 4).cells
    write(course, "# %% [markdown]\n# A new first cell\n\n" + TINY)
    after = nbformat.reads(release.student_notebook(course, "lab09_tiny"), 4).cells
    assert after[1:] == before
    assert [cell.id for cell in before[1:]] == ["solve", "double"]


def test_the_source_folder_holds_the_notebook_alone(course: Path):
    """nbgrader hands every other file in it to students, to their kernel and into feedback."""
    folder = course / "_build" / "source" / "lab09_tiny"
    folder.mkdir(parents=True)
    (folder / "answers.txt").write_text("a leftover")
    release.make_source(course, "lab09_tiny")
    assert [path.name for path in folder.iterdir()] == ["lab09_tiny.ipynb"]
    release.make_release(course, "lab09_tiny")
    assert [path.name for path in (course / "labs" / "lab09_tiny").iterdir()] == ["lab09_tiny.ipynb"]


def test_a_release_is_made_for_python3_and_holds_no_output():
    """Metadata of the author's machine would change with it, and an output could hold an answer."""
    for lab in LABS:
        notebook = nbformat.read(ROOT / "labs" / lab / f"{lab}.ipynb", 4)
        nbformat.validate(notebook)
        assert notebook.metadata == release.METADATA
        assert all(not cell.outputs and cell.execution_count is None for cell in code(notebook))
        kept = {key for cell in notebook.cells for key in cell.metadata}
        assert kept <= {"nbgrader", "tags", "deletable", "editable"}


def code(notebook: nbformat.NotebookNode) -> Iterator[nbformat.NotebookNode]:
    return (cell for cell in notebook.cells if cell.cell_type == "code")


def answers(lab: str) -> set[str]:
    """Every line of the solutions, the references and the mistakes that says enough to be recognized."""
    source = (ROOT / "solutions" / lab / "notebook.py").read_text()
    texts = re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", source, flags=re.DOTALL)
    texts += [path.read_text() for path in (ROOT / "solutions" / "reference").glob("*.py")]
    texts += [mistake.source for mistake in load_lab(ROOT, lab).mistakes]
    texts += [path.read_text() for path in (ROOT / "solutions" / lab).glob("measure*.py")]
    texts.append(source[source.index('"grade_id": "written-answer"') :].split("# %%")[0].replace("\n# ", "\n"))
    lines = {line.strip() for text in texts for line in text.splitlines()}
    given = re.compile(r"(class |def |import |from |super\(\)|\"\"\"Return|\"grade_id|@torch)")  # also in the stubs
    return {line for line in lines if len(line) > 24 and not given.match(line)}


@pytest.mark.parametrize("lab", LABS)
def test_no_answer_is_in_a_release(lab: str):
    """No line of a solution, of a reference or of a mistake; and the marks of solutions are gone too."""
    released = (ROOT / "labs" / lab / f"{lab}.ipynb").read_text()
    shown = "\n".join(cell.source for cell in nbformat.reads(released, 4).cells)
    assert len(answers(lab)) > 100
    assert [line for line in answers(lab) if line in shown] == []
    assert "SOLUTION" not in shown
    assert "solutions/" not in released


def test_the_look_for_answers_can_find_one():
    """The instructor's notebook, which holds them all, must be caught."""
    shown = "\n".join(cell.source for cell in nbformat.reads(release.instructor_notebook(ROOT, LABS[0]), 4).cells)
    assert sum(line in shown for line in answers(LABS[0])) > 40


def test_stale_names_each_file_that_is_off(course: Path):
    """Missing, changed and superfluous, each with what to do."""
    assert release.stale(course) == ["labs/lab09_tiny/lab09_tiny.ipynb is missing; run `make labs`."]
    made = release.make_release(course, "lab09_tiny")
    assert release.stale(course) == []
    made.write_text(made.read_text().replace("tiny lab", "tiny  lab"))
    (course / "labs" / "notes.txt").write_text("mine")
    assert release.stale(course) == [
        "labs/lab09_tiny/lab09_tiny.ipynb is not what solutions/lab09_tiny/notebook.py gives; run `make labs`.",
        "labs/notes.txt comes from no source; delete it or add its lab.",
    ]


def test_the_command_says_what_it_did_and_returns_1_when_stale(course: Path, capsys: pytest.CaptureFixture[str]):
    """`check` before and after `make`, and a lab that does not exist."""
    assert release.main(["check", "--course", str(course)]) == 1
    assert release.main(["make", "--course", str(course)]) == 0
    assert release.main(["check", "--course", str(course)]) == 0
    assert release.main(["make", "lab77", "--course", str(course)]) == 1
    assert "Labs with a source here: lab09_tiny" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("    ### END SOLUTION\n", "", "no end solution statement found"),
        ('"grade_id": "double"', '"grade_id": "solve"', "the id 'solve'"),
        ('"points": 1, ', "", "does not have points"),
        ('"solution": true', '"solution": false', "solution regions are within solution cells"),
    ],
)
def test_a_faulty_source_is_refused_with_its_cause(course: Path, old: str, new: str, sentence: str):
    """And the release that stands in labs/ is not touched."""
    good = release.make_release(course, "lab09_tiny")
    kept = good.read_bytes()
    write(course, TINY.replace(old, new))
    with pytest.raises(CourseError, match=sentence):
        release.make_release(course, "lab09_tiny")
    assert good.read_bytes() == kept
