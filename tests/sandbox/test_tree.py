"""The watch sees the memory and the CPU time of a whole tree of processes."""

import os
import subprocess
import sys
import time

import pytest

from autograder.sandbox.tree import Outsiders, exact_memory_mb, usage

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


def sleeper() -> subprocess.Popen[bytes]:
    """A process that starts a child for each line it reads."""
    code = "import os, time\nwhile input():\n    if os.fork() == 0:\n        time.sleep(60)\n    print(flush=True)"
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_children_that_are_born_later_count():
    """Who was outside is not looked at again, and who is new is, below a root and below an outsider."""
    outsiders = Outsiders()
    inside, outside = sleeper(), sleeper()
    seen = {}
    try:
        for number in (1, 2, 3):
            seen = usage([inside.pid], outsiders)
            assert len(seen[inside.pid].own_cpu_s) == number
            known = {int(name) for name, _ in outsiders.known}
            assert outside.pid in known
            assert os.getpid() in known
            assert not known & seen[inside.pid].own_cpu_s.keys()
            for process in (inside, outside):
                process.stdin.write(b"more\n")
                process.stdin.flush()
                process.stdout.readline()
        at_rest = usage([inside.pid, outside.pid])
        assert [len(at_rest[process.pid].own_cpu_s) for process in (inside, outside)] == [4, 4]
    finally:
        for one in usage([inside.pid, outside.pid]).values():
            for process in one.own_cpu_s:
                os.kill(process, 9)
        for process in (inside, outside):
            process.communicate()


def test_a_process_whose_line_was_lost_is_no_outsider(monkeypatch):
    """Its parent ended before it was read: it may be anybody's, so it is looked at again."""
    outsiders = Outsiders()
    process = sleeper()
    opened = open

    def gone(path, *args, **kwargs):
        if path == f"/proc/{os.getpid()}/stat":
            raise FileNotFoundError(path)
        return opened(path, *args, **kwargs)

    try:
        monkeypatch.setattr("builtins.open", gone)
        usage([], outsiders)
        assert str(process.pid) not in {name for name, _ in outsiders.known}
        monkeypatch.undo()
        usage([], outsiders)
        assert str(process.pid) in {name for name, _ in outsiders.known}
        assert usage([process.pid], Outsiders())[process.pid].own_cpu_s.keys() == {process.pid}
    finally:
        process.kill()
        process.communicate()


def test_after_a_while_everybody_is_looked_at(monkeypatch):
    """Whatever was found out before; and at once where an outsider is said to be a root."""
    outsiders = Outsiders()
    read = []
    opened = open
    monkeypatch.setattr("builtins.open", lambda path, *rest, **more: read.append(path) or opened(path, *rest, **more))

    def looked_at(roots):
        read.clear()
        usage(roots, outsiders)
        return f"/proc/{os.getppid()}/stat" in read

    assert [looked_at([]), looked_at([]), looked_at([os.getpid()]), looked_at([os.getpid()])] == [
        True,
        False,
        True,
        False,
    ]
    monkeypatch.setattr("autograder.sandbox.tree.ALL_AFTER_S", 0.0)
    assert looked_at([os.getpid()])
