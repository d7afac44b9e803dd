"""CPU time is counted over the whole tree of processes, also where a parent hides its children's time."""

import pytest

from autograder.sandbox.policy import Limits

pytestmark = pytest.mark.sandbox
LIMITS = Limits(cpu_s=1, wall_notebook_s=40)


def test_one_process_is_stopped(attack):
    """An endless loop ends at the limit."""
    outcome = attack("while True: pass", limits=LIMITS)
    assert outcome.cause == "cpu"
    assert outcome.cpu_s < 4


def test_children_that_come_and_go_are_counted(attack):
    """Each child uses little and is waited for."""
    source = """
import os
while True:
    if os.fork() == 0:
        sum(range(3_000_000))
        os._exit(0)
    os.wait()
"""
    assert attack(source, limits=LIMITS).cause == "cpu"


def test_children_that_nobody_waits_for_are_counted(attack):
    """With SIGCHLD ignored the kernel adds a dead child's time to nobody."""
    source = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if os.fork() == 0:
        end = time.process_time() + 0.4
        while time.process_time() < end:
            pass
        os._exit(0)
    time.sleep(0.2)
"""
    assert attack(source, limits=LIMITS).cause == "cpu"
