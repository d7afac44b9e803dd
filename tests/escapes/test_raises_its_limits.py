"""A boxed program cannot raise its limits: the hard limits are the soft ones."""

import pytest

from autograder.sandbox.policy import Limits, rlimits

pytestmark = pytest.mark.sandbox

SOURCE = """
import resource, sys
for name in sys.argv[1:]:
    kind = getattr(resource, "RLIMIT_" + name.upper())
    before = resource.getrlimit(kind)
    for wanted in ((resource.RLIM_INFINITY,) * 2, (before[1] + 1,) * 2):
        try:
            resource.setrlimit(kind, wanted)
        except (ValueError, OSError):
            pass
    print(name, *before, resource.getrlimit(kind) == before)
"""


def test_every_limit_stays(attack):
    """All of them are set, and none can be raised."""
    limits = Limits()
    expected = rlimits(limits)
    lines = attack(SOURCE, *expected, limits=limits).lines
    assert lines == [f"{name} {value} {value} True" for name, value in expected.items()]
