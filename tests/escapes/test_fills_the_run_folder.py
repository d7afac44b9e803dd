"""The run folder lies on the grader's disk: a box that writes anything but its sockets there is stopped."""

import pytest

from autograder.template.nest import landlock_version

pytestmark = pytest.mark.sandbox

SOURCE = """
import os, sys, time
for number in range(10000):
    with open(f"RUN_FOLDER/{number}", "wb") as file:
        file.write(b"x" * 1000)
    time.sleep(0.01)
"""


def test_a_stranger_in_the_run_folder_ends_the_box(attack):
    """Found at the next look, a tenth of a second later at most; a fork of the template may make sockets there and no files."""
    outcome = attack(SOURCE)
    if attack.rung == "warm" and landlock_version():
        assert outcome.lines[-1].startswith("PermissionError")
    else:
        assert outcome.cause == "folder"
