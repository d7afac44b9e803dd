"""The watch sees the memory and the CPU time of a whole tree of processes."""

import os
import subprocess
import sys
import time

import pytest

from autograder.sandbox.tree import exact_memory_mb, usage

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc")

TREE = """
import os, time
child = os.fork()
block = bytearray(b"x" * (100 * 2**20))
end = time.process_time() + 0.3
while time.process_time() < end:
    pass
print("ready", flush=True)
time.sleep(60)
"""


def test_children_count():
    """Two processes of 100 MB and 0.3 s each; a third, elsewhere, is not theirs."""
    process = subprocess.Popen([sys.executable, "-c", TREE], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() + process.stdout.readline() == b"ready\nready\n"
        seen = usage([process.pid])[process.pid]
        assert 200 < seen.memory_mb < 300
        assert 0.5 < seen.cpu_s < 3
        assert len(seen.own_cpu_s) == 2
        assert 200 < exact_memory_mb(seen.own_cpu_s) < 300
    finally:
        for child in seen.own_cpu_s:
            os.kill(child, 9)
        process.communicate()


def test_a_process_that_is_gone_is_left_out():
    """No exception, no zero."""
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    assert usage([process.pid]) == {}
    assert exact_memory_mb([process.pid]) == 0


def test_a_name_with_spaces_and_parentheses_is_read(tmp_path):
    """The second field of /proc/PID/stat is the program's name, as it likes it."""
    path = tmp_path / "a) R 1 ("
    path.symlink_to("/bin/sleep")
    process = subprocess.Popen([path, "60"])
    try:
        time.sleep(0.05)
        assert usage([os.getpid()])[os.getpid()].own_cpu_s.keys() >= {process.pid}
    finally:
        process.kill()
        process.wait()
