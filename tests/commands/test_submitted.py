"""Who has handed in: what `autograder grade` reads from the folders is what nbgrader would find there."""

from __future__ import annotations

from pathlib import Path

import pytest
from nbgrader.coursedir import CourseDirectory
from traitlets.config.loader import PyFileConfigLoader

from autograder.commands.submitted import submitted

LAB = "lab01"


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course without settings, in the current folder, with what else may lie among submissions."""
    for folder in (f"bob/{LAB}", f"ann/{LAB}", "cal/lab02", f"dee/old/{LAB}"):
        (tmp_path / "submitted" / folder).mkdir(parents=True)
    (tmp_path / "submitted" / "eve").mkdir()
    (tmp_path / "submitted" / "eve" / LAB).symlink_to(tmp_path / "submitted" / "ann" / LAB)
    (tmp_path / "submitted" / "fay").mkdir()
    (tmp_path / "submitted" / "fay" / LAB).write_text("no folder")
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_folder_of_the_lab_is_a_submission(course: Path) -> None:
    """Not a link, a file, another lab or a folder further down."""
    assert submitted(course, LAB) == {name: course / "submitted" / name / LAB for name in ("ann", "bob")}


def test_nobody_has_handed_in(course: Path) -> None:
    """Neither another lab, nor where there is no such folder."""
    assert submitted(course, "lab03") == {}
    (course / "submitted").rename(course / "elsewhere")
    assert submitted(course, LAB) == {}


@pytest.mark.parametrize(
    "settings",
    [
        "",
        "c.CourseDirectory.root = '{elsewhere}'\n",
        "c.CourseDirectory.submitted_directory = 'handed_in'\n",
        "c.CourseDirectory.root = '{elsewhere}'\nc.CourseDirectory.submitted_directory = 'handed_in'\n",
        "c.CourseDirectory.directory_structure = 'class/{{nbgrader_step}}/{{student_id}}/{{assignment_id}}'\n",
    ],
)
def test_the_places_are_those_that_nbgrader_has(course: Path, tmp_path: Path, settings: str) -> None:
    """Whatever the course's own settings say."""
    text = "c = get_config()\n" + settings.format(elsewhere=tmp_path / "other")
    (course / "nbgrader_config.py").write_text(text)
    theirs = CourseDirectory(config=PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config())
    folder = Path(theirs.format_path(theirs.submitted_directory, "zoe", LAB))
    folder.mkdir(parents=True)
    assert submitted(course, LAB)["zoe"].resolve() == folder.resolve()
