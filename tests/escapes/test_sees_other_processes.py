"""A box sees its own processes only."""

import pytest

pytestmark = pytest.mark.sandbox

SOURCE = """
import os
print(sorted(int(name) for name in os.listdir("/proc") if name.isdigit()), os.getpid())
"""


def test_no_process_of_the_machine_is_visible(attack):
    """Two are there: the program and bubblewrap's process 1."""
    assert attack(SOURCE).lines == ["[1, 2] 2"]
