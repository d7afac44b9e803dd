"""Student code that is graded on a worker finds no way to the cluster: not its ports, not its keys, not its words."""

from __future__ import annotations

import json
import socket

import psutil
import pytest

from autograder.grading.pool import Work, grade_many
from autograder.grading.version import version_of
from autograder.sandbox.policy import Limits
from tests.cluster.loopback import Loopback
from tests.plugins.conftest import LAB
from tests.submissions import odd

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

ATTEMPT = """
import json, os, socket
found = []
for place in {places}:
    try:
        socket.create_connection(tuple(place), timeout=2).close()
        found.append(place)
    except OSError:
        pass
for path in {paths}:
    if os.path.exists(path):
        found.append(path)
words = [value for pair in os.environ.items() for value in pair]
for process in os.listdir("/proc"):
    if process.isdigit():
        for name in ("environ", "cmdline"):
            try:
                words += open(f"/proc/{{process}}/{{name}}").read().split(chr(0))
            except OSError:
                pass
found += [word for word in words if "dask" in word.lower() or "tls://" in word]
print(json.dumps(found))
"""


def listening(cluster: Loopback) -> list[list[object]]:
    """Where the processes of the cluster listen: an address and a port each, also by the machine's other addresses."""
    ports = {
        connection.laddr.port
        for process in cluster.processes()
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    others = {
        address.address for net in psutil.net_if_addrs().values() for address in net if address.family == socket.AF_INET
    }
    return [[host, port] for host in sorted({"127.0.0.1", *others}) for port in sorted(ports)]


def can_connect(place: list[object]) -> bool:
    """Whether this process, which is in no box, gets through."""
    try:
        socket.create_connection((str(place[0]), int(str(place[1]))), timeout=2).close()
    except OSError:
        return False
    return True


def test_a_submission_reaches_neither_ports_nor_keys_nor_addresses(two_workers: Loopback) -> None:
    """A real kernel on a worker, in the box, tries all that this process gets through to."""
    with two_workers.cluster().opened(two_workers.wanted()) as executor:
        places = [place for place in listening(two_workers) if can_connect(place)]
        assert len(places) >= 5  # the scheduler, and for each worker its nanny and itself
        assert int(two_workers.address.rpartition(":")[2]) in {port for _, port in places}
        paths = [str(path) for path in two_workers.tls.iterdir()]
        cell = ATTEMPT.format(places=places, paths=[*paths, str(two_workers.folder), str(two_workers.course)])
        notebook = odd.as_bytes(odd.solved(double=cell + odd.DOUBLE))
        version = version_of(two_workers.course, LAB)
        [done] = grade_many([Work(LAB, version, "mallory", notebook, "", 7, Limits(), True)], executor)
    assert done.trouble == ""
    assert done.graded is not None
    assert done.graded.report.points == 5
    printed = [
        "".join(output["text"])
        for cell in done.graded.notebook.cells
        for output in cell.get("outputs", ())
        if "text" in output
    ]
    assert [json.loads(text) for text in printed] == [[]]
