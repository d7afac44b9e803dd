"""A kernel that ends itself, crashes or is killed is a verdict with a reason, and the next cell has the same one."""

import pytest

from autograder.sandbox.policy import Limits

pytestmark = pytest.mark.sandbox


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import os; os._exit(0)", "exit code 0"),
        ("import os; os._exit(3)", "exit code 3"),
        ("import ctypes; ctypes.string_at(0)", "crashed (SIGSEGV)"),
        ("import os; os.abort()", "crashed (SIGABRT)"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed by the system"),
    ],
    ids=["exit-0", "exit-3", "segfault", "abort", "kill"],
)
def test_the_death_is_named(hostile_notebook, source, words):
    """Known within two seconds."""
    before, death, after = hostile_notebook("print('kept')", source, "print('lost')")
    assert before.text == "kept\n"
    assert (death.status, death.alive) == ("dead", False)
    assert words in death.reason
    assert death.wall_s < 3
    assert (after.status, after.reason, after.outputs) == ("dead", death.reason, [])


def test_exit_called_in_a_cell_is_harmless(hostile_notebook):
    """IPython leaves it to the program around it whether to end; ours goes on."""
    _, after = hostile_notebook("exit()", "import time; time.sleep(0.5); print(1)")
    assert after.text == "1\n"


def test_too_much_memory_is_named(either_users_notebook):
    """Held by a child, so that the kernel itself sees no MemoryError."""
    source = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        block = b"x" * (200 * 2**20)
        time.sleep(30)
time.sleep(30)
"""
    (run,) = either_users_notebook(source, limits=Limits(memory_mb=600, wall_notebook_s=60))
    assert run.status == "dead"
    assert run.reason == "The kernel used more than 600 MB of memory and was stopped."


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(cpu_s=2, wall_notebook_s=60), "more than 2 s of CPU time"),
        (Limits(wall_notebook_s=3), "ran for more than 3 s"),
    ],
    ids=["cpu", "wall"],
)
def test_too_much_time_is_named(either_users_notebook, limits, words):
    """The limits of the whole notebook count as a timeout."""
    (run,) = either_users_notebook("while True: pass", limits=limits)
    assert (run.status, run.alive) == ("timeout", False)
    assert words in run.reason
