"""Builds each edition of the site once for all tests of the book, serves it, and lends a Chromium that may not leave it."""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.build_book import build, site_folder
from scripts.serve import QuietHandler, server
from tests.conftest import chromium_program

ROOT = Path(__file__).parents[2]


def is_fresh(edition: str) -> bool:
    """Say whether the edition was built, without a warning, from exactly the sources that lie here."""
    from course_site import STAMP, source_digest

    stamp = site_folder(edition) / STAMP
    return stamp.exists() and stamp.read_text("utf8") == source_digest(ROOT)


def built(edition: str) -> Path:
    """Return the folder of an edition; build it, warnings being errors, unless it is fresh."""
    pytest.importorskip("jupyter_book", reason="the book extra is not installed: pip install '.[book]'")
    (ROOT / "_build").mkdir(exist_ok=True)
    with (ROOT / "_build/site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test workers, one build
        if not is_fresh(edition):
            run = build(edition, "--all", capture_output=True, text=True, timeout=580)
            assert run.returncode == 0, f"The book does not build:\n{run.stdout[-3000:]}\n{run.stderr[-3000:]}"
    return site_folder(edition)


@pytest.fixture(scope="session")
def site() -> Path:
    """Return the folder of the full site."""
    return built("full")


@pytest.fixture(scope="session")
def student_site(site: Path) -> Path:
    """Return the folder of the students' edition; the full one is built first, since its code has run then."""
    return built("student")


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Return the address of a local server of the site, ending in a slash."""
    with server(site, 0, QuietHandler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/"
        running.shutdown()


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of Chromium; tests with the mark `browser` do not get here without one."""
    found = chromium_program()
    assert found is not None
    return found
