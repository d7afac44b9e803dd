"""A box cannot signal the grader, another box or anything else of the machine."""

import os
import subprocess
import sys

import pytest

from autograder.sandbox.folder import RunFolder
from autograder.sandbox.policy import Limits
from autograder.sandbox.start import start_box

pytestmark = pytest.mark.sandbox

SOURCE = """
import os, signal, sys
for process in (*map(int, sys.argv[1:]), 1):
    try:
        os.kill(process, signal.SIGKILL)
        print("sent")
    except (ProcessLookupError, PermissionError):
        print("refused")
try:
    os.kill(-1, signal.SIGTERM)
except (ProcessLookupError, PermissionError):
    pass
print("alive")
"""


def test_others_survive(attack):
    """Killed by number and all at once: a process of this machine and a second box both go on."""
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    sibling = start_box(["/usr/bin/sleep", "60"], RunFolder(), Limits()).result()
    try:
        outcome = attack(SOURCE, bystander.pid, sibling.process.pid, os.getpid())
        # Process 1 is the box's own; from inside its namespace a signal to it has no effect.
        assert outcome.lines[:3] == ["refused"] * 3
        assert outcome.lines[-1] == "alive"
        assert bystander.poll() is None
        assert sibling.alive
    finally:
        sibling.stop()
        bystander.communicate(b"\n")
        sibling.ended.result(10)
