"""One process cannot take more memory than allowed: Python says MemoryError, or the box is stopped."""

import pytest

from autograder.sandbox.policy import Limits

pytestmark = pytest.mark.sandbox


def test_one_large_block_is_a_memory_error(attack):
    """The program goes on, so that the student sees which line it was."""
    source = "try:\n    bytearray(2 * 2**30)\nexcept MemoryError:\n    print('MemoryError')"
    assert attack(source, limits=Limits(memory_mb=500)).lines == ["MemoryError"]


def test_many_small_blocks_end_the_box(attack):
    """Either the watch stops it or an allocation fails; it never holds much more than the limit."""
    source = "blocks = []\nwhile True:\n    blocks.append(b'x' * 10_000_000)"
    outcome = attack(source, limits=Limits(memory_mb=300, wall_notebook_s=30))
    assert outcome.cause == "memory" or "MemoryError" in outcome.lines[-1]
    assert outcome.peak_memory_mb < 600
