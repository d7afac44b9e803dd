"""The grader's end of the socket: bounded where the kernel is not, and no message is lost to a call that was cancelled."""

import asyncio
import json
import socket

import pytest

from autograder.errors import SandboxError
from autograder.kernel import wire
from autograder.kernel.wire import Message, Wire

GOOD = {"kind": "stream", "parent": "p", "content": {"text": "é"}}


def frame(message, data=b""):
    """A frame as a kernel sends it."""
    body = (message if isinstance(message, bytes) else json.dumps(message).encode()) + data
    return len(body).to_bytes(4, "big") + body


def received(*pieces, count=1, monkeypatch=None):
    """What the wire makes of bytes that a kernel sends before it hangs up."""

    async def run():
        opened = Wire()
        await opened.open()
        loop = asyncio.get_running_loop()
        theirs = opened.theirs
        theirs.setblocking(False)

        async def send():
            for piece in pieces:
                await loop.sock_sendall(theirs, piece)
            theirs.shutdown(socket.SHUT_WR)

        sending = asyncio.create_task(send())
        try:
            async with asyncio.timeout(10):
                return [await opened.receive() for _ in range(count)]
        finally:
            sending.cancel()
            opened.close()

    return asyncio.run(run())


def test_a_message_arrives_as_it_was_sent():
    """Text, and data as they are, also where they look like text or hold zero bytes."""
    text, both, end = received(frame(GOOD), frame(GOOD, b"\0\0{}\xff"), count=3)
    assert text == Message("stream", "p", {"text": "é"}, len(frame(GOOD)) - 4)
    assert (both.content, both.data) == ({"text": "é"}, b"\0{}\xff")
    assert end.kind == "closed"


def test_a_message_may_come_in_pieces():
    """Byte by byte."""
    assert received(*(bytes([byte]) for byte in frame(GOOD)))[0].kind == "stream"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\0",
        b"x",
        b"null",
        b"[1]",
        b"{}",
        b"1" * 10_000,
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"kind": "stream", "parent": "p"}',
        b'{"kind": "stream", "parent": "p", "content": []}',
        b'{"kind": "stream", "parent": null, "content": {}}',
        b'{"kind": 5, "parent": "p", "content": {}}',
        b'{"kind": "stream", "parent": "p", "content": ' + b'{"a":' * 20_000 + b"}",
    ],
)
def test_what_is_no_message_is_called_that(body):
    """And the next one is read."""
    first, second = received(frame(body), frame(GOOD), count=2)
    assert (first.kind, second.kind) == ("malformed", "stream")


def test_a_message_that_is_too_large_is_read_past(monkeypatch):
    """Without being kept; the next one is read."""
    monkeypatch.setattr(wire, "MESSAGE_MB", 1)
    first, second = received(frame(b"x" * (2**20 + 1)), frame(GOOD), count=2)
    assert (first.kind, first.size, second.kind) == ("oversize", 2**20 + 1, "stream")


@pytest.mark.parametrize("sent", [b"", b"\0\0", frame(GOOD)[:-1], b"\xff" * 1000])
def test_an_end_in_the_middle_is_an_end(sent):
    """So is a length that nobody means."""
    assert received(sent)[0].kind == "closed"


def test_a_call_that_was_cancelled_loses_nothing():
    """Neither before a message, nor within one."""

    async def run():
        opened = Wire()
        await opened.open()
        whole = frame(GOOD)
        try:
            for begin, end in ((0, 0), (0, 2), (2, 6), (6, len(whole) - 1)):
                opened.theirs.sendall(whole[begin:end])
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await opened.receive()
            opened.theirs.sendall(whole[-1:])
            return await opened.receive()
        finally:
            opened.close()

    assert asyncio.run(run()).content == {"text": "é"}


def test_over_tcp_only_who_knows_the_word_is_heard():
    """Where a child process inherits no socket, any process of the machine may connect."""

    async def run():
        opened = Wire(tcp=True)
        port, word = opened.where.split(":")
        opening = asyncio.create_task(opened.open())
        for said in (b"x" * 16, b"", bytes.fromhex(word)):
            _, writer = await asyncio.open_connection("127.0.0.1", int(port))
            writer.write(said + (frame(GOOD) if said else b""))
            await writer.drain()
            if not said:
                writer.close()
        await opening
        try:
            return await opened.receive()
        finally:
            opened.close()

    assert asyncio.run(run()).kind == "stream"


def test_a_wire_that_is_not_open_says_so():
    """A caller's mistake."""

    async def run():
        opened = Wire()
        try:
            await opened.receive()
        finally:
            opened.close()

    with pytest.raises(SandboxError, match="not open"):
        asyncio.run(run())
