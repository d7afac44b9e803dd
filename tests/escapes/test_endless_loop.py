"""An endless loop ends at the cell's time limit, also one that takes no interruption."""

import pytest

from autograder.sandbox.policy import Limits

pytestmark = pytest.mark.sandbox
LIMITS = Limits(wall_cell_s=1, wall_notebook_s=60)


def test_a_plain_loop_is_interrupted(either_users_notebook):
    """The kernel lives, and keeps what it knew."""
    _, loop, after = either_users_notebook("x = 5", "while True: pass", "print(x)", limits=LIMITS)
    assert (loop.status, loop.alive) == ("timeout", True)
    assert loop.reason == "The cell ran for more than 1 s and was stopped."
    assert loop.error["name"] == "KeyboardInterrupt"
    assert after.text == "5\n"


def test_a_loop_that_swallows_interruptions_loses_its_kernel(either_users_notebook):
    """Killed 2.5 s later; the next cell says why it did not run."""
    source = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
while True:
    try:
        while True: pass
    except BaseException: pass
"""
    loop, after = either_users_notebook(source, "1", limits=LIMITS)
    assert (loop.status, loop.alive) == ("timeout", False)
    assert loop.wall_s < 6
    assert after.status == "dead"
    assert "did not stop when it was interrupted" in after.reason


def test_sleep_outside_python_loses_its_kernel(either_users_notebook):
    """A call that holds the interpreter cannot be interrupted."""
    source = "import ctypes\nctypes.PyDLL(None).sleep(60)"
    (run,) = either_users_notebook(source, limits=LIMITS)
    assert run.status == "timeout"
    assert run.wall_s < 6
