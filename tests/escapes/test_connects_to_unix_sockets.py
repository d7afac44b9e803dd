"""Unix sockets of this machine, abstract ones and those in /tmp (an ssh-agent, a Docker daemon), are out of reach."""

import secrets
import socket

import pytest

pytestmark = pytest.mark.sandbox

SOURCE = """
import socket, sys
for address in ("\\0" + sys.argv[1], sys.argv[2]):
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(address)
        print("connected")
    except OSError as error:
        print("refused")
"""


def test_sockets_of_this_machine_are_not_reached(attack, outside, tmp_path_factory):
    """Outside both connect."""
    name = secrets.token_hex(8)
    path = f"/tmp/{name}"
    with socket.socket(socket.AF_UNIX) as abstract, socket.socket(socket.AF_UNIX) as named:
        abstract.bind("\0" + name)
        named.bind(path)
        abstract.listen()
        named.listen()
        try:
            assert outside(SOURCE, name, path) == ["connected", "connected"]
            assert attack(SOURCE, name, path).lines == ["refused", "refused"]
        finally:
            import os

            os.unlink(path)
