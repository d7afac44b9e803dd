"""Lint speaks when a lab is not all of a piece, says where and what to do, and is silent for a lab that is.

Each broken lab is the example lab of docs/example with a few words of its files changed, as an author would slip.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from broken_labs import BROKEN, LEAKS

from autograder.authoring import labs
from autograder.authoring.lint import RULES, lint
from autograder.authoring.material import Material, load_material
from autograder.authoring.release import make_release
from autograder.errors import UsageError
from tests.example_course import LAB, ROOT, edit, forget, loadable, write_course


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The course with its lab released; copied for each test."""
    root = write_course(tmp_path_factory.mktemp("lint") / "course")
    make_release(root, LAB)
    return root


@pytest.fixture
def course(template: Path, tmp_path: Path) -> Iterator[Path]:
    """A course of one's own, whose lab is loaded from its files as they stand when it is linted."""
    root = shutil.copytree(template, tmp_path / "course")
    with loadable(root):
        yield root


def source(course: Path, name: str) -> Path:
    """A file of the lab's sources."""
    return course / "solutions" / LAB / name


def findings(course: Path) -> list[str]:
    """What lint says of all labs now."""
    forget()
    return lint(course)


def speaks(course: Path, *patterns: str) -> None:
    """Every pattern fits a finding, and every finding a pattern."""
    found = findings(course)
    assert [pattern for pattern in patterns if not any(re.search(pattern, line) for line in found)] == [], found
    assert [line for line in found if not any(re.search(pattern, line) for pattern in patterns)] == []
    assert all(line.endswith(".") and "\n" not in line for line in found)


def test_a_sound_lab_gets_no_finding(course: Path) -> None:
    """The example lab is one."""
    assert findings(course) == []


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_lab_makes_it_speak(course: Path, case: str) -> None:
    """Of what is broken, in sentences that say what to do, and of nothing else."""
    name, edits, patterns = BROKEN[case]
    if case == "a check that a person grades":
        edit(source(course, "checks.py"), *BROKEN["a check without a cell"][1])
    edit(source(course, name), *edits)
    speaks(course, *patterns)


CASES = {
    "names_are_free": "a name with capitals",
    "cells_and_checks_pair": "a cell that is not locked",
    "points_add_up": "a wrong total",
    "text_says_it": "a behaviour that is not said",
    "mistakes_are_sound": "an id twice",
    "variants_are_whole": "no variants",
    "pages_exist": "a section that is not there",
    "nothing_leaks": "a missing release",
}


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_can_speak(course: Path, rule: Callable[[Material], Iterator[str]]) -> None:
    """And the command asks them all: whoever adds a rule adds a broken lab."""
    assert list(rule(load_material(course, LAB, {}))) == []
    if CASES[rule.__name__] in BROKEN:
        name, edits, _ = BROKEN[CASES[rule.__name__]]
        edit(source(course, name), *edits)
    else:
        released(course).unlink()
    forget()
    sentences = list(rule(load_material(course, LAB, {})))
    assert sentences
    forget()
    assert set(sentences) <= set(lint(course))


def released(course: Path) -> Path:
    """The notebook that students get."""
    return course / "labs" / LAB / f"{LAB}.ipynb"


def test_another_lab_s_check_is_named(course: Path) -> None:
    """`check("name")` finds a check by its name alone, so that it has to be free in all labs."""
    twin = shutil.copytree(course / "solutions" / LAB, course / "solutions" / "lab91_twin")
    for name in ("unit-rows", "unit-floor", "unit-manners"):
        for path in twin.glob("*.py"):
            path.write_text(path.read_text().replace(LAB, "lab91_twin").replace(name, name.replace("unit", "twin")))
    make_release(course, "lab91_twin")
    speaks(
        course, "lab90.*'unit-predict' is also one of lab91_twin; give", "lab91.*'unit-predict' is also one of lab90"
    )
    forget()
    (only,) = lint(course, ["lab91_twin"])
    assert only.startswith("solutions/lab91_twin/checks.py: the check 'unit-predict' is also one of lab90_unit_length")


def test_a_missing_release_is_named(course: Path) -> None:
    """And one that is no notebook."""
    released(course).write_text("{}")
    speaks(course, "labs/lab90_unit_length/lab90_unit_length.ipynb is missing or cannot be read; run `make labs`")
    released(course).unlink()
    speaks(course, "is missing or cannot be read; run `make labs`")


def test_another_file_in_the_release_is_named(course: Path) -> None:
    """nbgrader would hand it out; Jupyter's own checkpoints are passed over."""
    folder = released(course).parent
    (folder / "data").mkdir()
    (folder / "data" / "answers.csv").touch()
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / ".ipynb_checkpoints" / "old.ipynb").touch()
    speaks(course, "labs/lab90_unit_length/data/answers.csv would go to students; delete it")


@pytest.mark.parametrize("case", LEAKS)
def test_what_leaks_into_the_release_is_named(course: Path, case: str) -> None:
    """Whichever cell it stands in."""
    name, line, pattern = LEAKS[case]
    notebook = nbformat.read(released(course), as_version=4)
    cell = next(cell for cell in notebook.cells if name in (cell.id, "the first cell"))
    cell.source += "\n" + line
    nbformat.write(notebook, released(course))
    speaks(course, pattern)


def test_outputs_and_attachments_in_the_release_are_named(course: Path) -> None:
    """Both may hold an answer that no search for lines finds."""
    notebook = nbformat.read(released(course), as_version=4)
    notebook.cells[1].outputs = [nbformat.v4.new_output("stream", text="0.6")]
    notebook.cells[3].execution_count = 4
    notebook.cells[0].attachments = {"a.png": {"image/png": ""}}
    nbformat.write(notebook, released(course))
    speaks(
        course,
        "the cell 'set-up' has outputs",
        "the cell 'solve-prediction' has outputs",
        "has an attachment; remove it",
    )


def test_a_page_that_the_website_does_not_have_is_named(course: Path) -> None:
    """It is written, and not listed."""
    edit(course / "_toc.yml", ("      - file: book/mathematical-formulation\n", ""))
    speaks(course, "'unit-columns' and 2 more link to .*book/mathematical-formulation is not listed in _toc.yml")


def test_a_lab_that_does_not_load_hides_no_other(course: Path) -> None:
    """Each lab has its say."""
    shutil.copytree(course / "solutions" / LAB, course / "solutions" / "lab91_twin")
    edit(course / "solutions" / "lab91_twin" / "checks.py", ("LAB = Lab(", "LAB = None(("))
    edit(source(course, "notebook.py"), ("`unit_length` (7 points)", "`unit_length` (6 points)"))
    speaks(
        course, "^lab91_twin: The checks of lab91_twin do not load: SyntaxError", "^solutions/lab90.*states 6 points"
    )


def test_a_lab_without_checks_is_named(course: Path) -> None:
    """An author begins with the text."""
    (course / "solutions" / "lab91_new").mkdir()
    (course / "solutions" / "lab91_new" / "notebook.py").write_text("# %% [markdown]\n# # New\n")
    speaks(course, "^lab91_new: solutions/lab91_new has no checks.py; write it, with LAB")


def test_the_command_ends_with_0_1_or_2(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of a piece; findings on standard output, one a line; a lab that the course does not have."""
    at = ["--course", str(course)]
    assert labs.main(["lint", *at]) == 0
    assert capsys.readouterr().out == "The labs are all of a piece (1 looked over).\n"
    edit(
        source(course, "notebook.py"),
        ("`unit_length` (7 points)", "`unit_length` (6 points)"),
        ("Points:** 10", "Points:** 11"),
    )
    forget()
    assert labs.main(["lint", LAB, *at]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert labs.main(["lint", "lab77_none", *at]) == 2
    assert capsys.readouterr().err == f"There is no lab 'lab77_none'. The labs of {course} are: {LAB}.\n"
    with pytest.raises(UsageError):
        lint(course, ["lab77_none"])


def test_make_test_lints_beside_the_look_at_freshness() -> None:
    """Both gates are quick, so they stand before the tests."""
    recipe = (ROOT / "Makefile").read_text().split("\ntest: setup")[1].split("\n\n")[0]
    lines = [line.split()[-2:] for line in recipe.splitlines()]
    assert lines.index(["labs", "lint"]) == lines.index(["labs", "check"]) + 1
