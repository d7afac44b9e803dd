"""Promises about the pages around the chapters: the labs' table, the commands of the guide, the glossary's order."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
ROW = re.compile(
    r"^\| \[(\d) [^]]*\]\(\.\./(labs/[^)]+)\) \| [^|]+ \| (\d+) \((\d+)\) \| (\d+ to \d+) \| (\d+) \|$", re.M
)


def lab_rows() -> list[tuple[str, ...]]:
    """Return the rows of the table of labs: number, notebook, points, points by machine, minutes, known mistakes."""
    return ROW.findall((BOOK / "practical-labs.md").read_text("utf8"))


def test_the_table_of_labs_has_every_lab():
    """Six notebooks, six rows, in order."""
    assert [row[1] for row in lab_rows()] == [
        path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "labs").glob("*/*.ipynb"))
    ]


@pytest.mark.parametrize("row", lab_rows(), ids=lambda row: f"lab {row[0]}")
def test_points_minutes_and_mistakes_are_those_of_the_lab(row):
    """What the page says of a lab stands in its notebook and in the matrix of mistakes."""
    _, notebook, points, by_machine, minutes, mistakes = row
    cells = json.loads((ROOT / notebook).read_text("utf8"))["cells"]
    graded = [about for cell in cells if (about := cell["metadata"].get("nbgrader", {})).get("grade")]
    assert sum(about["points"] for about in graded) == int(points)
    assert sum(about["points"] for about in graded if not about["solution"]) == int(by_machine)
    assert f"**Time:** {minutes} minutes." in "".join(cells[0]["source"])
    matrix = (ROOT / "docs/labs/matrix.md").read_text("utf8")
    assert re.search(rf"\(`{Path(notebook).stem}`\)\n\n{mistakes} mistakes", matrix)


def guide_commands() -> list[str]:
    """Return each line of the shell boxes of the guide."""
    boxes = re.findall(r"^```sh\n(.*?)^```$", (BOOK / "how-to-use.md").read_text("utf8"), re.MULTILINE | re.DOTALL)
    return [line for box in boxes for line in box.splitlines()]


@cache
def help_of(program: str) -> str:
    """Return what a program beside this Python says for --help."""
    beside = Path(sys.executable).parent / program
    return subprocess.run([beside, "--help"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("command", sorted(set(guide_commands())))
def test_command_of_the_guide_exists(command):
    """A command is a target of the Makefile, a subcommand of a program here, or stands in the README or the guides."""
    program, *rest = command.split()
    if program == "make":
        assert re.search(rf"^{rest[0]}:", (ROOT / "Makefile").read_text("utf8"), re.MULTILINE)
    elif program in {"autograder", "nbgrader"}:
        assert re.search(rf"^\s*{rest[0]}\b", help_of(program), re.MULTILINE)
    else:
        papers = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
        known = "\n".join(re.sub(r"\s+#.*", "", line) for p in papers for line in p.read_text("utf8").splitlines())
        assert all(part.strip() in known for part in command.split("&&"))


def test_checks_named_in_the_guide_are_those_of_a_lab():
    """A check that the guide runs is one that a lab has."""
    named = set(re.findall(r'check\("([^"]+)"', (BOOK / "how-to-use.md").read_text("utf8")))
    labs = "".join(path.read_text("utf8") for path in (ROOT / "labs").glob("*/*.ipynb"))
    assert named
    assert all(f'check(\\"{name}\\")' in labs for name in named)


def entries() -> list[tuple[str, str]]:
    """Return term and definition of each entry of the glossary."""
    inside = (BOOK / "glossary.md").read_text("utf8").split("```{glossary}\n")[1].split("\n```")[0]
    return [tuple(entry.split("\n", 1)) for entry in inside.strip().split("\n\n")]


def test_glossary_is_in_alphabetical_order_without_repetition():
    """A reader finds a word where the alphabet puts it."""
    terms = [re.sub(r"[^a-z ]", "", term.lower()) for term, _ in entries()]
    assert len(terms) > 60
    assert terms == sorted(set(terms))


def test_every_entry_of_the_glossary_links_to_an_explanation():
    """An entry without a link would be a dead end."""
    assert not [term for term, text in entries() if "](" not in text]
