"""Promises about the book on paper: one file, in order, with numbers, bookmarks and links that stay inside."""

from __future__ import annotations

import sys
from io import BytesIO

import pytest

from scripts import pdf

PAGES = [("Chapters", "book/advanced-theory.html"), ("Look up", "book/notation.html")]


@pytest.mark.browser
@pytest.mark.slow
def test_pages_are_bound_into_one_file(site):
    """Two pages stand for all: contents first, both titles as bookmarks, sheets numbered from one, links turned inwards."""
    from pypdf import PdfReader

    book = PdfReader(BytesIO(pdf.print_book("full", PAGES)))
    text = [sheet.extract_text() for sheet in book.pages]
    titles = [mark.title for mark in book.outline if not isinstance(mark, list)]
    assert titles[0] == "Contents"
    assert ["Advanced Theory" in titles[1], "Notation" in titles[2]] == [True, True]
    first = book.get_destination_page_number(
        next(m for m in book.outline if not isinstance(m, list) and m.title == titles[1])
    )
    assert text[first].split()[-1] == "1"
    assert text[-1].split()[-1] == str(len(text) - first)
    assert "Advanced Theory" in text[first - 1]
    links = [ref.get_object().get("/A", {}) for sheet in book.pages for ref in sheet.get("/Annots", [])]
    assert any(link.get("/S") == "/GoTo" for link in links)
    assert not [link["/URI"] for link in links if "127.0.0.1" in str(link.get("/URI", ""))]


def test_without_chromium_it_says_what_to_install(monkeypatch):
    """Nothing is printed, and the sentence names the program."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="apt install chromium"):
        pdf.print_book("full")


def test_unknown_edition_is_refused():
    """The sentence says which editions there are."""
    with pytest.raises(SystemExit, match="full or student"):
        pdf.main("teacher")


def test_without_a_site_it_says_what_to_run(monkeypatch, tmp_path):
    """A page that is not built is named."""
    pytest.importorskip("playwright")
    monkeypatch.setattr(pdf.shutil, "which", lambda name: sys.executable)
    monkeypatch.setattr(pdf, "site_folder", lambda edition: tmp_path)
    monkeypatch.setattr(pdf, "ROOT", tmp_path)
    monkeypatch.setattr(pdf, "listed", lambda edition: ("Book", PAGES))
    with pytest.raises(SystemExit, match=r"advanced-theory.html is not in .*make book"):
        pdf.print_book("full")
