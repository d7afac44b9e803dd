"""What tests of several folders share: the rule for machines that lack a program, and boxes run as another user."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zlib
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from autograder.sandbox.policy import Limits

ROOT = Path(__file__).resolve().parent.parent
ORDINARY_USER = 61000
os.environ.pop("GRADEBOOK_URL", None)  # no test writes into the gradebook of whoever runs it


CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium_program() -> str | None:
    """Return the path of a Chromium, or None."""
    return next((path for name in CHROMIUM if (path := shutil.which(name))), None)


def _no_bubblewrap() -> str:
    return "" if shutil.which("bwrap") else "bubblewrap is missing: apt install bubblewrap"


def _no_browser() -> str:
    packages = ("playwright", "axe_playwright_python")
    if any(importlib.util.find_spec(package) is None for package in packages):
        return "the packages playwright and axe-playwright-python are missing: pip install '.[dev]'"
    return "" if chromium_program() else "no Chromium was found: apt install chromium"


def postgresql_programs() -> Path | None:
    """Return the folder of a PostgreSQL server's programs, or None; Debian keeps those of each version off the path."""
    if shutil.which("pg_createcluster"):
        debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda found: float(found.parts[4]))
        if debian:
            return debian[-1].parent
    initdb = shutil.which("initdb")
    return Path(initdb).resolve().parent if initdb else None


def _no_postgresql() -> str:
    if importlib.util.find_spec("psycopg") is None:
        return "the package psycopg is missing: pip install '.[postgres]'"
    return "" if postgresql_programs() else "no PostgreSQL server was found: apt install postgresql"


LONGEST = ("test_in_browser.py", "test_matrix.py", "test_notebooks.py", "test_fingerprints.py")
NEEDS = {
    "sandbox": _no_bubblewrap,
    "browser": _no_browser,
    "postgresql": _no_postgresql,
}  # a mark, and why it cannot be had here


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a file with one worker, since they share what was made for them; those of notebooks share it, too.

    The corpus comes last and shares nothing: two halves of it, so that no worker waits for the other one minute and a half.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            if "tests/corpus/" in file:
                return f"{file}, half {zlib.crc32(nodeid.encode()) % 2 + 1}"
            return "notebooks" if "tests/labs/" in file and "notebook" in file else file

    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest files first, so that two workers end together, and the corpus last.

    The corpus' files are submissions, run in this process, and some leave torch's switches turned.
    """
    items.sort(key=lambda item: (item.path.name not in LONGEST, "corpus" in item.path.parts))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test whose mark needs a program is skipped with the reason where there is none, but fails there in CI."""
    for mark, missing in NEEDS.items():
        if item.get_closest_marker(mark) and (reason := missing()):
            if os.environ.get("CI") == "true":
                pytest.fail(f"CI skips no test marked {mark}: {reason}")
            pytest.skip(reason)


@dataclass(frozen=True)
class Outcome:
    """How a program in a box ended: see `autograder.sandbox.end.End`; `lines` is what it printed (the last 4 kB)."""

    cause: str
    code: int
    lines: list[str]
    cpu_s: float
    peak_memory_mb: float


def run_elsewhere(script: str, order: dict[str, object], *, ordinary: bool) -> dict[str, object]:
    """Run a script of tests/ in a new process: JSON to its standard input, JSON from its standard output."""
    argv = [sys.executable, str(ROOT / "tests" / script)]
    if ordinary:
        argv = [*_as_ordinary_user(), *argv]
    done = subprocess.run(argv, input=json.dumps(order), capture_output=True, text=True, timeout=120, cwd="/")
    if done.returncode != 0:
        pytest.fail(f"{script} failed{' as an ordinary user' if ordinary else ''}:\n{done.stdout}\n{done.stderr}")
    return json.loads(done.stdout)


def _as_ordinary_user() -> list[str]:
    """Words that run a command as a user who is not root, although root's own folders hold the Python that it needs.

    An outer bubblewrap shows the whole machine, but where a folder above Python or the course is closed to others it
    puts an open, empty one with only those inside. /tmp is new, so that nothing of the user's is left in the real one.
    """
    needed = sorted({sys.prefix, sys.base_prefix, str(Path(sys.base_prefix).resolve()), str(ROOT)})
    closed = {"/tmp"}
    for path in needed:
        closed |= {str(above) for above in Path(path).parents if not above.stat().st_mode & 0o001}
    words = ["bwrap", "--bind", "/", "/", "--dev-bind", "/dev", "/dev"]
    for folder in sorted(closed):
        words += ["--perms", "1777" if folder == "/tmp" else "0755", "--tmpfs", folder]
        for path in (path for path in needed if path.startswith(folder + "/")):
            # bubblewrap would make the folders in between for root alone.
            between = [above for above in reversed(Path(path).parents) if str(above).startswith(folder + "/")]
            words += [word for above in between for word in ("--perms", "0755", "--dir", str(above))]
            words += ["--ro-bind", path, path]
    words += ["--", "setpriv", f"--reuid={ORDINARY_USER}", f"--regid={ORDINARY_USER}", "--clear-groups"]
    words += ["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "--"]
    return [*words, "env", "-i", "PATH=/usr/bin:/bin", "HOME=/tmp", "A_SECRET_OF_THE_GRADER=1"]


USERS = ["this-user", pytest.param("ordinary-user", marks=pytest.mark.skipif(os.geteuid() != 0, reason="not root"))]
RUNGS = ["cold", "warm"]


@pytest.fixture(params=RUNGS)
def rung(request: pytest.FixtureRequest) -> str:
    """How a box is made: anew, or by a fork of a template that fences itself off."""
    return str(request.param)


@pytest.fixture(params=USERS)
def attack(request: pytest.FixtureRequest, rung: str):
    """Run a Python program in a box of its own and say how it ended; as this user, and from root also as another.

    attack(source, *arguments, limits=Limits(...)) -> Outcome
    """

    def run(source: str, *arguments: object, limits: Limits | None = None) -> Outcome:
        order = {
            "source": source,
            "arguments": [str(argument) for argument in arguments],
            "limits": asdict(limits or Limits(wall_notebook_s=30)),
            "rung": rung,
        }
        return Outcome(**run_elsewhere("one_box.py", order, ordinary=request.param == "ordinary-user"))

    run.user = request.param
    run.rung = rung
    return run


@dataclass(frozen=True)
class Ran:
    """A `CellRun`, and whether the kernel could still take a cell after it."""

    status: str
    outputs: list[dict[str, object]]
    error: dict[str, str] | None
    reason: str
    wall_s: float
    alive: bool

    @property
    def text(self) -> str:
        """What was printed."""
        return "".join(str(output["text"]) for output in self.outputs if output["output_type"] == "stream")


def _run_cells(*sources: str, limits: Limits | None = None, ordinary: bool = False, rung: str = "warm") -> list[Ran]:
    order = {"cells": sources, "limits": asdict(limits or Limits(wall_cell_s=20, wall_notebook_s=60))}
    answer = run_elsewhere("one_kernel.py", {**order, "rung": rung}, ordinary=ordinary)
    assert answer["left"] == [], "a box was left behind"
    assert answer["grader_mb"] < 600, "the grader's own memory was filled"
    return [Ran(**cell) for cell in answer["cells"]]


@pytest.fixture
def hostile_notebook(rung: str):
    """Run cells one after the other in a boxed kernel, in a grader process of its own.

    hostile_notebook(*sources, limits=Limits(...)) -> list[Ran]; a source after "ask:" is asked, its data is the text.
    """
    return partial(_run_cells, rung=rung)


@pytest.fixture(params=USERS)
def either_users_notebook(request: pytest.FixtureRequest):
    """The same as this user, and from root also as an ordinary one."""
    return partial(_run_cells, ordinary=request.param == "ordinary-user")


@pytest.fixture
def outside():
    """Run the same program without a box: the proof that an attack would work. outside(source, *arguments) -> lines"""

    def run(source: str, *arguments: object) -> list[str]:
        argv = [sys.executable, "-I", "-c", source, *map(str, arguments)]
        return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()

    return run
