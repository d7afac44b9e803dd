"""Links, files and folders in the place of an ordinary kernel's sockets and connection file harm nobody."""

import os

import pytest

pytestmark = pytest.mark.sandbox

SOURCE = """
import os, socket, sys, time
folder, kept, done = "RUN_FOLDER", [], []
for number in range(1, 6):
    kept.append(socket.socket(socket.AF_UNIX))
    kept[-1].bind(f"{folder}/k-{number}")
    kept[-1].listen()
time.sleep(0.5)  # as a kernel that has started
for name in sorted(os.listdir(folder)):
    try:
        os.unlink(f"{folder}/{name}")
        os.symlink("/etc/shadow", f"{folder}/{name}")
        done.append(name)
    except OSError:
        pass
for path in (folder, os.path.dirname(folder)):
    try:
        os.rename(path, path + "x")
        done.append(path)
    except OSError:
        pass
print(len(kept), done)
time.sleep(0.5)
"""


def test_the_grader_follows_nothing(attack):
    """Built by root or forked, the folder is out of reach; else the box is stopped at the next look."""
    outcome = attack(SOURCE)
    if outcome.cause == "exit":
        assert outcome.lines == ["5 []"]
    else:
        assert outcome.cause == "folder"
        assert attack.rung == "cold"
        assert attack.user == "ordinary-user" or os.geteuid() != 0
