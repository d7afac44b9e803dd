"""The client's side of ZMTP: it understands libzmq, and is bounded where the peer is not."""

import asyncio

import pytest
import zmq
import zmq.asyncio

from autograder.kernel.zmtp import MalformedError, Stream

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x04\x06\x05READY"


async def stream_to(tmp_path, *pieces, kind="SUB"):
    """A stream to a peer that sends the pieces, whatever it hears, and hangs up."""

    async def serve(reader, writer):
        for piece in pieces:
            writer.write(piece)
        try:
            await writer.drain()
            writer.write_eof()
        except OSError:
            pass

    server = await asyncio.start_unix_server(serve, str(tmp_path / "s"))
    return await Stream.connect(str(tmp_path / "s"), kind), server


def receive(tmp_path, *pieces, max_bytes=100):
    """The first message after a good greeting."""

    async def run():
        stream, server = await stream_to(tmp_path, GREETING + READY, *pieces)
        try:
            return await asyncio.wait_for(stream.receive(max_bytes), 5)
        finally:
            stream.close()
            server.close()

    return asyncio.run(run())


@pytest.mark.parametrize("size", [0, 1, 255, 256, 70_000])
def test_it_talks_with_libzmq(tmp_path, size):
    """Short and long frames there and back: DEALER to ROUTER, SUB from PUB."""

    async def run():
        context = zmq.asyncio.Context()
        router, pub = context.socket(zmq.ROUTER), context.socket(zmq.XPUB)
        router.bind(f"ipc://{tmp_path}/r")
        pub.bind(f"ipc://{tmp_path}/p")
        shell = await Stream.connect(f"{tmp_path}/r", "DEALER")
        iopub = await Stream.connect(f"{tmp_path}/p", "SUB")
        body = b"x" * size
        await shell.send([b"first", body])
        identity, *parts = await router.recv_multipart()
        await router.send_multipart([identity, *reversed(parts)])
        answer = await shell.receive(10**6)
        await pub.recv()
        await pub.send_multipart([b"topic", body])
        news = await iopub.receive(10**6)
        shell.close()
        iopub.close()
        context.destroy(linger=0)
        return parts, answer[0], news[0]

    parts, answer, news = asyncio.run(run())
    assert parts == [b"first", b"x" * size]
    assert answer == [b"x" * size, b"first"]
    assert news == [b"topic", b"x" * size]


def test_a_message_over_the_bound_is_read_past(tmp_path):
    """Its size is known, the bytes are not kept."""
    assert receive(tmp_path, b"\x02" + (5000).to_bytes(8, "big") + b"x" * 5000) == (None, 5000)


def test_many_parts_over_the_bound_are_read_past(tmp_path):
    """Small parts add up."""
    assert receive(tmp_path, (b"\x01\x0a" + b"x" * 10) * 20 + b"\x00\x00") == (None, 200)
    assert receive(tmp_path, b"\x01\x00" * 100 + b"\x00\x00") == (None, 0)


def test_commands_between_frames_are_skipped(tmp_path):
    """A heartbeat of the peer."""
    assert receive(tmp_path, b"\x04\x05\x04PING", b"\x00\x02hi")[0] == [b"hi"]


def test_a_peer_that_hangs_up_is_an_end(tmp_path):
    """In the middle of a frame, too."""
    with pytest.raises(EOFError):
        receive(tmp_path, b"\x00\x05ab")
    with pytest.raises(EOFError):
        receive(tmp_path, b"\x02" + (5000).to_bytes(8, "big") + b"x")


def test_bytes_that_are_not_zmtp_are_named(tmp_path):
    """In a frame and in the greeting."""
    with pytest.raises(MalformedError):
        receive(tmp_path, b"\xf0\x00")
    for greeting in (bytes(64) + READY, GREETING[:12] + b"CURVE".ljust(20, b"\0") + bytes(32) + READY):
        with pytest.raises(MalformedError):
            asyncio.run(stream_to(tmp_path, greeting))


def test_nobody_there_is_an_os_error(tmp_path):
    """So that the caller can try again."""
    with pytest.raises(OSError, match="No such file"):
        asyncio.run(Stream.connect(str(tmp_path / "absent"), "SUB"))
