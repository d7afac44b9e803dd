"""What the kernel counts for each user is not used up by a neighbour: here file descriptors on their way between processes."""

import errno
import os
import sys
import time

import pytest

from autograder.sandbox import start
from autograder.sandbox.folder import RunFolder
from autograder.sandbox.keeper import keeper
from autograder.sandbox.policy import Limits
from autograder.sandbox.warm import Template

# An ordinary user's boxes are all that user outside, since giving other ids away takes root's rights.
pytestmark = [pytest.mark.sandbox, pytest.mark.skipif(os.geteuid() != 0, reason="not root")]

SOURCE = """
import array, os, socket, sys, time
ours, theirs = socket.socketpair()
rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 50))]
sent = 0
try:
    while sent < {wanted}:
        sent += ours.sendmsg([b"x"], rights)
except OSError as error:
    print(error.errno, flush=True)
print("sent", sent, flush=True)
time.sleep({stay})
"""


@pytest.mark.parametrize("same_user", [False, True])
def test_a_neighbour_can_still_pass_descriptors(rung, same_user, monkeypatch):
    """As a DataLoader's workers do; with the same user for both, which is what makes the attack, it could not."""
    if same_user:
        monkeypatch.setattr(start, "throw_away_user", lambda: 0x7000_0001)
    template = keeper().call(lambda: Template(["json"])).result() if rung == "warm" else None

    def run(source):
        if template is None:
            return start.start_box([sys.executable, "-c", source], RunFolder(), Limits(wall_notebook_s=30)).result()
        given = {"connection": None, "source": source, "arguments": [], "files": {}}
        return start.start_fork(template, RunFolder(within=template.folder), Limits(wall_notebook_s=30), given).result()

    try:
        if template is not None:
            template.wait_until_ready(60)
        greedy = run(SOURCE.format(wanted=10**6, stay=60))
        deadline = time.monotonic() + 20
        while b"sent" not in greedy._tail and time.monotonic() < deadline:
            time.sleep(0.05)
        assert greedy._tail.startswith(str(errno.ETOOMANYREFS).encode())
        neighbour = run(SOURCE.format(wanted=1, stay=0)).ended.result(20).tail
        assert neighbour == (f"{errno.ETOOMANYREFS}\nsent 0\n" if same_user else "sent 1\n")
        greedy.stop()
        greedy.ended.result(20)
    finally:
        if template is not None:
            template.close()
