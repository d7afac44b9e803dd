"""Memory outside a process's private pages is counted or refused: shared maps, memory files, System V segments."""

import pytest

from autograder.sandbox.policy import Limits

pytestmark = pytest.mark.sandbox


def test_a_shared_map_is_counted(attack):
    """An anonymous shared map is no private page, and yet it is stopped at the limit."""
    source = "import mmap, time\nmemory = mmap.mmap(-1, 600 * 2**20)\nmemory.write(b'x' * len(memory))\ntime.sleep(20)"
    source = source.replace("memory.write(b'x' * len(memory))", "[memory.write(b'x' * 2**20) for _ in range(600)]")
    assert attack(source, limits=Limits(memory_mb=300, wall_notebook_s=30)).cause == "memory"


def test_memory_without_a_map_is_refused(attack, outside):
    """memfd_create, shmget and msgget all work outside."""
    source = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
tried = libc.memfd_create(b"x", 0), libc.shmget(0, 2**20, 0o1600), libc.msgget(0, 0o1600)
print([result < 0 for result in tried])
if tried[1] >= 0:
    libc.shmctl(tried[1], 0, None)
if tried[2] >= 0:
    libc.msgctl(tried[2], 0, None)
"""
    assert outside(source) == ["[False, False, False]"]
    assert attack(source).lines == ["[True, True, True]"]
