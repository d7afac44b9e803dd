"""docs/writing-a-lab.md keeps its word: its commands build, lint, survey and grade the example lab, its code stands in its files.

The course is a copy with the package, the book's sources and nothing in solutions/: what an author starts from. The page's
commands run in it as they are printed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from autograder.authoring.lint import RULES
from tests.example_course import EXAMPLE, LAB, ROOT, WITHOUT_CACHES, write_course

PAGE = (ROOT / "docs" / "writing-a-lab.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
COMMANDS = [line for kind, block in BLOCKS if kind == "sh" for line in block.splitlines()]


class Walk:
    """The walk through the page: a course, and what each of the commands printed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.printed: dict[str, str] = {}

    def run(self, command: str, expect: int = 0) -> str:
        """Run a command line in the course, with its own package."""
        programs = self.root / "bin"
        environment = {k: v for k, v in os.environ.items() if k != "NORMALIZATION_COURSE"}
        environment |= {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == expect, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    """The course after the page's commands, but for those that need a sandbox."""
    root = write_course(tmp_path_factory.mktemp("afternoon") / "course", with_lab=False)
    shutil.copytree(ROOT / "autograder", root / "autograder", ignore=WITHOUT_CACHES)
    shutil.copytree(EXAMPLE.parent, root / "docs" / "example", ignore=WITHOUT_CACHES)
    for practice in (root / "autograder" / "practice").glob("*.zip"):
        practice.unlink()
    (root / "bin").mkdir()
    for program, words in (("python", ""), ("autograder", " -m autograder")):
        (root / "bin" / program).write_text(f'#!/bin/sh\nexec "{sys.executable}"{words} "$@"\n')
        (root / "bin" / program).chmod(0o755)
    there = Walk(root)
    for command in COMMANDS:
        if not command.startswith("autograder try"):
            there.printed[command] = there.run(command)
    return there


def test_the_page_s_code_stands_in_the_files() -> None:
    """Word for word, so that the page cannot drift away from what the tests run."""
    files = "\n".join(path.read_text(encoding="utf-8") for path in sorted(EXAMPLE.glob("*.py")))
    blocks = [block for kind, block in BLOCKS if kind == "python"]
    assert len(blocks) >= 7
    assert [block for block in blocks if block not in files] == []


def test_the_page_counts_the_lines_of_the_files() -> None:
    """All of them, and no file is missing from the table."""
    said = {
        name: int(lines) for name, lines in re.findall(r"^\| \[`(\w+\.py)`\].*\| (\d+) \|$", PAGE, flags=re.MULTILINE)
    }
    assert said == {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in EXAMPLE.glob("*.py")}


def test_the_page_walks_through_every_command() -> None:
    """Copy, make, lint, survey, try."""
    assert [" ".join(command.split()[:3]) for command in COMMANDS] == [
        f"cp -r docs/example/{LAB}",
        "autograder labs make",
        "autograder labs lint",
        "python -m autograder.authoring.matrix",
        f"autograder try {LAB}",
    ]


def test_the_page_s_table_of_rules_names_every_rule() -> None:
    """One row for each."""
    table = PAGE.split("| lint looks at |")[1].split("\n\n")[0]
    assert len(table.splitlines()) - 2 == len(RULES)


@pytest.mark.slow
def test_make_writes_the_notebook_and_the_numbers(walk: Walk) -> None:
    """Twelve cells; the solution is not among them."""
    notebook = nbformat.read(walk.root / "labs" / LAB / f"{LAB}.ipynb", 4)
    assert len(notebook.cells) == 12
    assert "clamp" not in "".join(cell.source for cell in notebook.cells)
    assert (walk.root / "autograder" / "practice" / f"{LAB}.zip").is_file()
    assert walk.run("autograder labs check").startswith("labs/ and the practice files are fresh")


@pytest.mark.slow
def test_lint_is_silent(walk: Walk) -> None:
    """The lab is all of a piece."""
    assert walk.printed[f"autograder labs lint {LAB}"] == "The labs are all of a piece (1 looked over).\n"


@pytest.mark.slow
def test_the_survey_prints_the_page_s_table(walk: Walk) -> None:
    """Every mistake is caught by its check and named, both variants pass."""
    printed = walk.printed[f"python -m autograder.authoring.matrix {LAB}"]
    table = "| mistake | rows |" + PAGE.split("| mistake | rows |")[1].split("\n\n")[0]
    assert table in printed
    assert "3 mistakes, and 2 honest variants, which pass every check." in printed


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_wrong_answer_is_named_as_the_page_shows(walk: Walk) -> None:
    """In the sandbox; every line that the page prints is printed."""
    printed = walk.run(COMMANDS[-1]).splitlines()
    shown = [line for kind, block in BLOCKS if kind == "text" for line in block.splitlines()]
    assert len(shown) == 5
    assert [line for line in shown if line not in printed] == []


SOURCES = {
    "ada": "def unit_length(x, eps=1e-12):\n    return x / x.square().sum(1, keepdim=True).sqrt().clamp_min(eps)",
    "bob": (EXAMPLE.parent / "wrong_answer.py").read_text(encoding="utf-8"),
}


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_class_is_graded_and_the_wrong_notebook_is_named(walk: Walk) -> None:
    """Two notebooks through the whole pipeline: everything right, and the wrong answer with a wrong prediction."""
    released = walk.root / "labs" / LAB / f"{LAB}.ipynb"
    for student, source in SOURCES.items():
        notebook = nbformat.read(released, 4)
        cells = {cell.id: cell for cell in notebook.cells}
        cells["solve-prediction"].source = f"predicted_first = {0.6 if student == 'ada' else 0.75}"
        cells["solve-unit-length"].source = source
        folder = walk.root / "submitted" / student / LAB
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / f"{LAB}.ipynb")
    walk.run(f"autograder grade {LAB} --seed 1 --jobs 1")
    reports = {s: json.loads((walk.root / "reports" / LAB / f"{s}.json").read_text()) for s in SOURCES}
    assert {s: report["points"] for s, report in reports.items()} == {"ada": 8, "bob": 5}
    lost = {check["name"]: check["diagnosis"] for check in reports["bob"]["checks"] if not check["passed"]}
    assert set(lost) == {"unit-predict", "unit-floor"}
    assert lost["unit-floor"]["id"] == "unit-eps-added"
    assert (walk.root / "feedback" / "bob" / LAB / f"{LAB}.html").is_file()
