"""A box does not see the grader's environment variables, in its own environment or through /proc."""

import pytest

pytestmark = pytest.mark.sandbox

SOURCE = """
import glob, os
found = list(os.environ)
for path in glob.glob("/proc/*/environ"):
    try:
        found += open(path, "rb").read().decode().split("\\0")
    except PermissionError:
        pass
print("a secret" if any("A_SECRET_OF_THE_GRADER" in entry for entry in found) else "nothing", len(found) > 10)
"""


def test_the_environment_is_the_boxs_own(attack):
    """The grader of this test holds a secret variable; it is nowhere in the box."""
    assert attack(SOURCE).lines == ["nothing True"]
