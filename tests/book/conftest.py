"""Builds the site once for all tests of the book, serves it, and lends a Chromium that may not leave it."""

from __future__ import annotations

import fcntl
import functools
import http.server
import importlib.util
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import chromium_program

ROOT = Path(__file__).parents[2]
SITE = ROOT / "_build/html"


def load_site_extension() -> ModuleType:
    """Return book/_ext/course_site.py as a module."""
    spec = importlib.util.spec_from_file_location("course_site", ROOT / "book/_ext/course_site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_fresh() -> bool:
    """Say whether the site was built, without a warning, from exactly the sources that lie here."""
    extension = load_site_extension()
    stamp = SITE / extension.STAMP
    return stamp.exists() and stamp.read_text("utf8") == extension.source_digest(ROOT)


@pytest.fixture(scope="session")
def site() -> Path:
    """Return the folder of the built site; build it, warnings being errors, unless it is fresh."""
    pytest.importorskip("jupyter_book", reason="the book extra is not installed: pip install '.[book]'")
    (ROOT / "_build").mkdir(exist_ok=True)
    with (ROOT / "_build/site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test workers, one build
        if not is_fresh():
            start = "from jupyter_book.cli.main import main; main()"
            command = [sys.executable, "-c", start, "build", ".", "--all", "-W", "-n", "--keep-going"]
            run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=500, check=False)
            assert run.returncode == 0, f"The book does not build:\n{run.stdout[-3000:]}\n{run.stderr[-3000:]}"
    return SITE


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files without writing a line for each request."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Return the address of a local server of the site, ending in a slash."""
    handler = functools.partial(QuietHandler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of Chromium; tests with the mark `browser` do not get here without one."""
    found = chromium_program()
    assert found is not None
    return found
