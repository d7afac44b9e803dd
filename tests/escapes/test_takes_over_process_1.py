"""Process 1 of a box is bubblewrap's; in an ordinary user's box it can be taken over, and then gives nothing more."""

import pytest

from autograder.sandbox.policy import Limits

pytestmark = pytest.mark.sandbox

SOURCE = """
import os
fields = dict(line.rstrip("\\n").split(":\\t", 1) for line in open("/proc/1/status") if ":\\t" in line)
print(fields["Seccomp"], fields["NoNewPrivs"], int(fields["CapPrm"], 16))
limits = {line[:26].strip(): line[26:].split()[1] for line in open("/proc/1/limits")}
print(limits["Max processes"], limits["Max file size"], limits["Max open files"])
try:
    print(sorted(os.listdir("/proc/1/root")) == sorted(os.listdir("/")))
except PermissionError:
    print(True)
"""


def test_process_1_is_bound_like_the_rest(attack):
    """The same filter, no capabilities, the same limits, the same root."""
    outcome = attack(SOURCE, limits=Limits(processes=77, file_mb=3, open_files=99))
    assert outcome.lines == ["2 1 0", f"77 {3 * 2**20} 99", "True"]
