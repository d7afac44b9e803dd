"""Nothing of the machine can be written: no program, no package, no setting of the kernel."""

import pytest

pytestmark = pytest.mark.sandbox

SOURCE = """
import os, sys, torch
places = ["/", "/usr/bin", "/usr/lib", "/etc", "/dev", "/proc", "/proc/sys/kernel", "/opt"]
places += ["/opt/autograder/autograder"]
places += ["/opt/autograder/autograder/trace", sys.prefix, os.path.join(sys.prefix, "bin"), sys.base_prefix]
places += [os.path.dirname(torch.__file__), "/tmp/../root", "/sys/devices/system/cpu"]
# Of a course that lies below /tmp, the folders that only lead to what is lent are the box's own, on its own /tmp.
scratch = os.stat("/tmp").st_dev
places = [p for p in places if not (p.startswith("/tmp/") and os.path.exists(p) and os.stat(p).st_dev == scratch)]
for place in places:
    try:
        os.makedirs(os.path.join(place, "student"))
        print("wrote", place)
    except OSError:
        pass
for file in ("/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/usr/bin/env", "/proc/self/oom_score_adj/x"):
    try:
        open(file, "w").write("0")
        print("wrote", file)
    except OSError:
        pass
for place in ("/tmp", "/dev/shm", os.environ["HOME"]):
    open(os.path.join(place, "mine"), "w").write("x")
print("done")
"""


def test_only_the_boxs_own_scratch_can_be_written(attack):
    """/tmp, /dev/shm and the home are the box's own."""
    assert attack(SOURCE).lines == ["done"]
