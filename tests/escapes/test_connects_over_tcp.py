"""A box has no network: a listener on this machine's loopback is out of reach."""

import socket

import pytest

pytestmark = pytest.mark.sandbox

SOURCE = """
import socket, sys
for address in (("127.0.0.1", int(sys.argv[1])), ("1.1.1.1", 53)):
    try:
        socket.create_connection(address, timeout=2)
        print("connected")
    except OSError as error:
        print("refused")
    if sys.argv[2:]:
        break
"""


def test_a_listener_of_this_machine_is_not_reached(attack, outside):
    """Outside the same program connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert outside(SOURCE, port, "loopback only") == ["connected"]
        assert attack(SOURCE, port).lines == ["refused", "refused"]
