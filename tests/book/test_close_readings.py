"""Promises of the pages that read the three first texts closely: what they run is what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "book"


def entries() -> list[tuple[str, str]]:
    """Return (title, text) of each entry of the errata, from the first to the exercises."""
    text = (BOOK / "seed-errata.md").read_text("utf8").split("\n## Exercises")[0]
    parts = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    return [(part.splitlines()[0], re.split(r"^(?:## |\([\w-]+\)=$)", part, flags=re.MULTILINE)[0]) for part in parts]


def test_errata_are_complete_in_number():
    """No entry was lost: the three texts had this many things to correct, or to clear of suspicion."""
    assert len(entries()) >= 45


@pytest.mark.parametrize(("title", "text"), entries(), ids=[title for title, _ in entries()])
def test_erratum_says_what_was_said_what_happens_and_where_it_is_taught(title, text):
    """Each entry has its parts, and what to learn ends in a link to a section of the book."""
    assert "*Happens.*" in text
    assert ("*Said.*" in text) != ("*Suspected.*" in text)
    lesson = text.split("*Learn.*")[1]
    assert re.search(r"\]\((#|[\w-]+\.md|\.\./labs)", lesson)


def test_expected_output_of_the_five_cases_is_right_line_for_line(site):
    """The page ran the comparison, and each of the twelve lines came out as its author had expected."""
    page = re.sub(r"<[^>]+>", "", (site / "book/group-norm-five-cases.html").read_text("utf8"))
    lines = re.findall(r"^(as expected|DIFFERENT) +\| ", page, re.MULTILINE)
    assert lines == ["as expected"] * 12


def test_no_page_leads_to_the_solutions_shown():
    """The walk-through comes after the labs: nobody gets there from another page, and the student edition lacks it."""
    for page in BOOK.glob("*.md"):
        if page.name != "reference-implementations.md":
            text = page.read_text("utf8")
            assert "reference-implementations" not in text
            assert "seed-implementations-" not in text
