"""Memory is counted over the whole tree of processes, so that children below the limit do not add up past it."""

import pytest

from autograder.sandbox.policy import Limits

pytestmark = pytest.mark.sandbox

SOURCE = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            block = b"x" * (150 * 2**20)
            time.sleep(30)
        os._exit(0)
time.sleep(30)
"""


def test_children_are_counted_together(attack):
    """Six orphans of 150 MB each are stopped at 400 MB."""
    assert attack(SOURCE, limits=Limits(memory_mb=400, wall_notebook_s=30)).cause == "memory"


def test_pages_shared_with_the_parent_count_once(attack):
    """Ten forks of a process of 150 MB do not hold 1.5 GB, and are left alone."""
    source = """
import os, time
block = bytearray(b"x" * (150 * 2**20))
children = [os.fork() for _ in range(4)]
if 0 in children:
    time.sleep(1)
    os._exit(0)
time.sleep(0.5)
print("done")
"""
    source = source.replace(
        "children = [os.fork() for _ in range(4)]",
        """
children = []
for _ in range(10):
    children.append(os.fork())
    if children[-1] == 0:
        break""",
    )
    outcome = attack(source, limits=Limits(memory_mb=400, wall_notebook_s=30))
    assert (outcome.cause, outcome.lines) == ("exit", ["done"])
