"""A kernel that damages or closes its own connections loses its kernel, and the grader waits for nothing."""

import pytest

from autograder.sandbox.policy import Limits

pytestmark = pytest.mark.sandbox
LIMITS = Limits(wall_cell_s=2, wall_notebook_s=60)

DESCRIPTORS = """
import os, socket
sockets = []
for name in os.listdir("/proc/self/fd"):
    try:
        connection = socket.socket(fileno=os.dup(int(name)))
        if connection.family == socket.AF_UNIX:
            sockets.append((int(name), connection))
        else:
            connection.close()
    except OSError:
        pass
"""


def test_garbage_on_the_wire(hostile_notebook):
    """Bytes that are no frame, written straight into the open connection."""
    source = (
        DESCRIPTORS
        + """
for _, connection in sockets:
    try:
        connection.send(b"\\xff" * 1000)
    except OSError:
        pass
"""
    )
    run, after = hostile_notebook(source, "1", limits=LIMITS)
    assert run.status == "dead"
    assert "connection" in run.reason
    assert after.status == "dead"


def test_a_frame_without_end(hostile_notebook):
    """A frame that claims half a gigabyte, and goes on and on, is read past until the cell's time is over."""
    source = (
        DESCRIPTORS
        + """
import time
for _, connection in sockets:
    try:
        connection.send((2**29).to_bytes(4, "big"))
    except OSError:
        pass
while True:
    for _, connection in sockets:
        try:
            connection.send(b"x" * 2**20)
        except OSError:
            pass
"""
    )
    (run,) = hostile_notebook(source, limits=LIMITS)
    assert run.status in ("timeout", "flooded", "dead")
    assert run.wall_s < 12


def test_closed_connections(hostile_notebook):
    """Hanging up while the process goes on."""
    source = (
        DESCRIPTORS
        + """
import time
for descriptor, connection in sockets:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
time.sleep(60)
"""
    )
    run, after = hostile_notebook(source, "1", limits=LIMITS)
    assert run.status == after.status == "dead"
    assert run.reason == after.reason != ""
