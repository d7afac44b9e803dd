"""Promises of the scripts that build and serve the site; nothing is built here."""

from __future__ import annotations

import subprocess
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml

from scripts import build_book, serve


def listed(path: Path) -> list[str]:
    """Return the pages of a table of contents."""
    return [chapter["file"] for part in yaml.safe_load(path.read_text("utf8"))["parts"] for chapter in part["chapters"]]


def test_the_students_edition_lacks_one_page():
    """And nothing else: same pages, same order."""
    full, student = (listed(build_book.table_of_contents(edition)) for edition in ("full", "student"))
    assert student == [page for page in full if page != "book/reference-implementations"]
    assert len(student) == len(full) - 1


def test_editions_lie_in_folders_of_their_own():
    """Building one leaves the other alone."""
    full, student = map(build_book.site_folder, ("full", "student"))
    assert full not in student.parents
    assert student not in full.parents


def test_unknown_edition_is_refused():
    """The sentence says which editions there are."""
    with pytest.raises(SystemExit, match="full or student"):
        build_book.main("teacher")


@pytest.mark.parametrize(("returncode", "kept"), [(0, True), (1, False)])
def test_a_failed_build_forgets_what_it_read(monkeypatch, tmp_path, returncode, kept):
    """Warnings come up when a page is read: kept, the store would let the next build pass in silence."""
    monkeypatch.setitem(build_book.FOLDERS, "full", tmp_path)
    monkeypatch.setattr(build_book.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], returncode))
    (tmp_path / ".doctrees").mkdir()
    assert build_book.build("full").returncode == returncode
    assert (tmp_path / ".doctrees").exists() == kept


def answer(address: str, method: str = "GET") -> tuple[int, str]:
    """Return status and text of an answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(address, method=method), timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_server_shows_the_sites_own_page_to_a_lost_reader(tmp_path):
    """With the status 404, at any depth; without such a page, the usual error."""
    (tmp_path / "index.html").write_text("here")
    with serve.server(tmp_path, 0, serve.QuietHandler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{running.server_port}"
        assert answer(f"{address}/") == (200, "here")
        assert answer(f"{address}/a/b.html")[0] == 404
        (tmp_path / "404.html").write_text("lost?")
        assert answer(f"{address}/a/b.html") == (404, "lost?")
        assert answer(f"{address}/a/b.html", "HEAD") == (404, "")
        running.shutdown()


def test_serving_nothing_says_what_to_run(tmp_path):
    """Instead of an empty listing."""
    with pytest.raises(SystemExit, match="make book"):
        serve.main(str(tmp_path), "0")
