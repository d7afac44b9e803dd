"""A course is found from wherever one stands in it, and what is missing in it is named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from autograder.errors import CourseError, UsageError
from autograder.grading.course import COURSE_VARIABLE, find_course, lab_names, load_course_lab, load_lab

ROOT = Path(__file__).resolve().parents[2]
LAB = "lab01_batch_norm"


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty course, and no variable that names another one."""
    monkeypatch.delenv(COURSE_VARIABLE, raising=False)
    (tmp_path / "course" / "solutions").mkdir(parents=True)
    (tmp_path / "course" / "nbgrader_config.py").touch()
    return tmp_path / "course"


def test_it_is_the_nearest_folder_above(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the one that one stands in."""
    deep = course / "submitted" / "ada"
    deep.mkdir(parents=True)
    assert find_course(deep) == find_course(course) == course
    monkeypatch.chdir(deep)
    assert find_course() == course


def test_the_variable_comes_first(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It must name a course."""
    monkeypatch.setenv(COURSE_VARIABLE, str(course))
    assert find_course(ROOT) == course
    monkeypatch.setenv(COURSE_VARIABLE, str(course / "solutions"))
    with pytest.raises(CourseError, match="holds no solutions/ folder; point it to the course"):
        find_course()


def test_from_elsewhere_it_is_the_packages_own(course: Path) -> None:
    """A checkout is a course."""
    assert find_course(course.parent) == ROOT


def test_labs_are_named(course: Path) -> None:
    """Those that have checks."""
    for name in ("lab02_b", "lab01_a", "lab03_empty"):
        (course / "solutions" / name).mkdir()
    for name in ("lab02_b", "lab01_a"):
        (course / "solutions" / name / "checks.py").touch()
    assert lab_names(course) == ("lab01_a", "lab02_b")
    assert LAB in lab_names(ROOT)


@pytest.mark.parametrize("name", ["lab99", "", "../lab01_batch_norm", "reference"])
def test_an_unknown_lab_is_a_usage_error(name: str) -> None:
    """Which names the labs that there are; nothing outside is imported."""
    with pytest.raises(UsageError, match=f"There is no lab '.*{LAB}"):
        load_lab(ROOT, name)


@pytest.mark.parametrize(
    ("source", "words"),
    [("1 / 0", "do not load: ZeroDivisionError"), ("x = 1", "do not load: AttributeError"),
     ("LAB = 3", "must define LAB, a Lab; it holds a int")],
)  # fmt: skip
def test_checks_that_do_not_load_are_a_course_error(
    course: Path, monkeypatch: pytest.MonkeyPatch, source: str, words: str
) -> None:
    """With the folder to mend."""
    import solutions

    (course / "solutions" / "lab08_odd").mkdir()
    (course / "solutions" / "lab08_odd" / "checks.py").write_text(source)
    monkeypatch.setattr(solutions, "__path__", [*solutions.__path__, str(course / "solutions")])
    monkeypatch.setattr(sys, "path", list(sys.path))
    try:
        with pytest.raises(CourseError, match=words):
            load_lab(course, "lab08_odd")
    finally:
        for name in [name for name in sys.modules if name.startswith("solutions.lab08_odd")]:
            del sys.modules[name]


def test_a_lab_comes_with_its_release() -> None:
    """The notebook that students were given."""
    lab = load_course_lab(ROOT, LAB)
    assert (lab.name, lab.course) == (LAB, ROOT)
    ids = {cell.metadata.get("nbgrader", {}).get("grade_id") for cell in lab.release.cells}
    assert lab.lab.names <= ids


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff\xfe", b'{"cells": 3}'])
def test_a_release_that_is_not_there_is_a_course_error(course: Path, content: bytes | None) -> None:
    """`make labs` makes it."""
    (course / "solutions" / LAB).mkdir()
    (course / "solutions" / LAB / "checks.py").touch()
    if content is not None:
        (course / "labs" / LAB).mkdir(parents=True)
        (course / "labs" / LAB / f"{LAB}.ipynb").write_bytes(content)
    with pytest.raises(CourseError, match="Run `make labs`"):
        load_course_lab(course, LAB)
