"""Promises about the table that says where each section of the first texts is answered."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="the book extra is not installed: pip install '.[book]'")

from course_site import seed_map
from course_site.notebooks import headings, listed_pages

ROOT = Path(__file__).parents[2]


def test_no_section_is_lost_and_none_is_claimed_twice():
    """Each section has one label, on one page."""
    assert seed_map.problems(ROOT) == []
    assert len(seed_map.sections()) == 29 + 7 + 6


def test_table_is_fresh():
    """When this fails: make seed-map."""
    assert (ROOT / seed_map.TARGET).read_text("utf8") == seed_map.seed_map(ROOT)


def test_places_are_real_headings_of_the_site(site):
    """Each label stands on a page of the table of contents, as an anchor, in front of a heading."""
    pages = set(listed_pages(ROOT))
    for label, ((page, _, heading),) in seed_map.places(ROOT).items():
        assert f"book/{page}" in pages, label
        assert f'id="{label}"' in (site / f"book/{page}.html").read_text("utf8"), label
        assert f"# {heading}\n" in (ROOT / f"book/{page}.md").read_text("utf8"), label


def test_labels_are_those_of_headings_and_not_of_code(tmp_path):
    """Several labels may share a heading; what looks like a heading or a label in a block of code is none."""
    text = (
        "# Title\n\n```{code-cell}\n# note\n```\n\n(a)=\n(b)=\n## Both\n\n```text\n(c)=\n## no\n```\n\n(d)=\n\n### D\n"
    )
    assert headings(text) == ("Title", {"a": "Both", "b": "Both", "d": "D"})


def test_a_missing_a_double_and_an_unknown_label_are_named(tmp_path):
    """The sentences say which."""
    (tmp_path / "book").mkdir()
    text = "(seed-theory-summary)=\n# One\n\n(seed-theory-summary)=\n## Two\n\n(seed-theory-none)=\n## Three\n"
    (tmp_path / "book/page.md").write_text(text)
    wrong = seed_map.problems(tmp_path)
    assert "seed-theory-introduction stands nowhere." in wrong
    assert "seed-theory-summary stands 2 times." in wrong
    assert "seed-theory-none in page.md is no section of a text." in wrong
