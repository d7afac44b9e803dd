"""When a box ends, by itself or stopped, no process of it is left, however it hid."""

import secrets
import time
from pathlib import Path

import pytest

from autograder.sandbox.policy import Limits

pytestmark = pytest.mark.sandbox

SOURCE = """
import os, signal, sys, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in range(1, 32):
                try:
                    signal.signal(number, signal.SIG_IGN)
                except OSError:
                    pass
            os.execv("/usr/bin/sleep", ["sleep", "1" + sys.argv[1]])
        os._exit(0)
time.sleep(0.3)
if sys.argv[2] == "stay":
    time.sleep(30)
"""


@pytest.mark.parametrize("ending", ["leave", "stay"])
def test_nothing_is_left(attack, ending):
    """Daemons with all signals ignored are gone at the moment that the end is reported."""
    mark = str(secrets.randbelow(10**9) + 10**9)
    outcome = attack(SOURCE, mark, ending, limits=Limits(wall_notebook_s=1.5))
    assert outcome.cause == {"leave": "exit", "stay": "wall"}[ending]
    assert not _running("1" + mark)


def _running(argument: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"sleep" in words[0] and argument.encode() in words:
            found.append(str(path))
    return found


def test_the_search_above_finds_such_a_process():
    """Otherwise the test before could not fail."""
    import subprocess

    sleeper = subprocess.Popen(["/usr/bin/sleep", "1234567890123"])
    try:
        time.sleep(0.05)
        assert _running("1234567890123")
    finally:
        sleeper.kill()
        sleeper.wait()
