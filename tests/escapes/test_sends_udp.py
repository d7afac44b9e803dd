"""A datagram to this machine's loopback does not arrive."""

import socket

import pytest

pytestmark = pytest.mark.sandbox

SOURCE = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    try:
        sender.sendto(b"hello", ("127.0.0.1", int(sys.argv[1])))
    except OSError:
        pass
print("tried")
"""


def test_a_datagram_is_not_delivered(attack, outside):
    """Outside it arrives."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        port = receiver.getsockname()[1]
        receiver.settimeout(2)
        outside(SOURCE, port)
        assert receiver.recv(10) == b"hello"
        assert attack(SOURCE, port).lines == ["tried"]
        receiver.setblocking(False)
        with pytest.raises(BlockingIOError):
            receiver.recv(10)
