"""A test that needs a program is skipped with a reason where there is none, and fails there in CI: no gate opens by itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REASONS = {
    "sandbox": "apt install bubblewrap",
    "browser": "apt install chromium",
    "postgresql": "apt install postgresql",
}


def outcome(folder: Path, mark: str, **environment: str) -> str:
    """What pytest says about one test with a mark, where no program can be found."""
    (folder / "conftest.py").write_text("from tests.conftest import pytest_runtest_setup\n")
    (folder / "test_one.py").write_text(f"import pytest\n@pytest.mark.{mark}\ndef test_one(): pass\n")
    env = {key: value for key, value in os.environ.items() if key != "CI"} | {
        "PATH": str(folder),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "pytest", "-rsf", "-p", "no:cacheprovider", f"--rootdir={folder}", str(folder)]
    done = subprocess.run(command, cwd=folder, env=env | environment, capture_output=True, text=True, timeout=100)
    return done.stdout


@pytest.mark.parametrize("mark", REASONS)
def test_it_is_skipped_with_a_reason(tmp_path: Path, mark: str) -> None:
    """On a reader's machine."""
    said = outcome(tmp_path, mark)
    assert "1 skipped" in said
    assert REASONS[mark] in said


@pytest.mark.parametrize("mark", REASONS)
def test_it_fails_in_ci(tmp_path: Path, mark: str) -> None:
    """Where a skipped test would look like a passed one."""
    said = outcome(tmp_path, mark, CI="true")
    assert "1 failed" in said or "1 error" in said
    assert REASONS[mark] in said


def test_a_test_without_a_mark_runs_anywhere(tmp_path: Path) -> None:
    """The rule is about marks alone."""
    assert "1 passed" in outcome(tmp_path, "slow", CI="true")
