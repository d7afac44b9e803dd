"""What a command costs is found also where its processes are killed, or end after it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.meter import CommandFailed, measured, method

BUSY = "import time\nwhile time.process_time() < 0.3: pass\n"
KILLED = BUSY + "import os\nos.kill(os.getpid(), 9)\n"
LEFT_BEHIND = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', {busy!r}], start_new_session=True)"


def cpu_s(source: str, where: Path) -> float:
    return measured((sys.executable, "-c", source), where=where).cpu_s


def test_a_busy_process_costs_what_it_used(tmp_path: Path) -> None:
    assert cpu_s(BUSY, tmp_path) >= 0.3


def test_a_child_that_was_killed_counts(tmp_path: Path) -> None:
    assert cpu_s(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {KILLED!r}])", tmp_path) >= 0.3


def test_a_process_that_outlives_the_command_counts(tmp_path: Path) -> None:
    assert cpu_s(LEFT_BEHIND.format(busy=BUSY), tmp_path) >= 0.3


def test_a_command_that_fails_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="no such luck"):
        measured((sys.executable, "-c", "raise SystemExit('no such luck')"), where=tmp_path)


def test_a_variable_can_be_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    words = (sys.executable, "-c", "import os; print(os.environ.get('OMP_NUM_THREADS'))")
    assert measured(words, where=tmp_path).text.strip() == "1"
    assert measured(words, where=tmp_path, environment={"OMP_NUM_THREADS": None}).text.strip() == "None"


def test_how_cpu_time_is_found_is_said_in_words() -> None:
    assert method().split()[0] in ("control", "busy")


def test_a_child_that_is_not_of_the_command_is_left_alone(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    ended = subprocess.Popen([sys.executable, "-c", "raise SystemExit(7)"])
    time.sleep(0.5)
    assert measured((sys.executable, "-c", "print(1)"), where=tmp_path).wall_s < 10
    assert ended.wait() == 7
    assert other.poll() is None
    other.kill()
    other.communicate()
