"""The few words of ZMTP 3.0 (ZeroMQ's wire protocol) that a client of a kernel needs, over one asyncio stream.

Why not libzmq: it buffers a message of many parts without any bound, connects again to whatever a kernel puts in the
place of its socket, and keeps threads. Here one connection is made once, every read is bounded before it is stored, and
a sender that is too fast waits. Source: ZeroMQ RFC 23 (https://rfc.zeromq.org/spec/23/), mechanism NULL.
"""

from __future__ import annotations

import asyncio
import sys

MORE, LONG, COMMAND = 1, 2, 4
MAX_PARTS = 64


class MalformedError(Exception):
    """The peer does not speak ZMTP; the stream is of no use after it."""


class Stream:
    """One socket of a kernel: `kind` is DEALER (shell, control) or SUB (iopub)."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, address: str | tuple[str, int], kind: str) -> Stream:
        """Connect and shake hands; `address` is the path of a Unix socket or a host and a port.

        Raises:
            OSError: nobody listens there (yet).
            MalformedError: something listens there that is not ZeroMQ.
        """
        if isinstance(address, str):
            if sys.platform == "win32":
                raise OSError("no Unix sockets here")
            reader, writer = await asyncio.open_unix_connection(address)
        else:
            reader, writer = await asyncio.open_connection(*address)
        stream = cls(reader, writer)
        try:
            await stream._greet(kind)
        except BaseException as error:
            stream.close()
            if isinstance(error, asyncio.IncompleteReadError):
                raise ConnectionResetError("the kernel hung up") from error
            raise
        return stream

    async def _greet(self, kind: str) -> None:
        signature = b"\xff" + bytes(8) + b"\x7f"
        greeting = signature + b"\x03\x00" + b"NULL".ljust(20, b"\0") + b"\0" + bytes(31)
        self._writer.write(greeting)
        theirs = await self._reader.readexactly(64)
        if theirs[0] != 0xFF or theirs[9] != 0x7F or theirs[10] < 3 or theirs[12:16] != b"NULL":
            raise MalformedError("the kernel's socket does not speak ZMTP 3 without encryption")
        name, value = b"Socket-Type", kind.encode()
        ready = bytes([5]) + b"READY" + bytes([len(name)]) + name + len(value).to_bytes(4, "big") + value
        self._writer.write(bytes([COMMAND, len(ready)]) + ready)
        flags, length = await self._head()
        body = await self._reader.readexactly(min(length, 65536))
        if not flags & COMMAND or not body.startswith(b"\x05READY"):
            raise MalformedError("the kernel's socket refused the connection")
        if kind == "SUB":
            await self.send([b"\x01"])  # subscribe to all topics

    async def send(self, parts: list[bytes]) -> None:
        """Send one message; waits while the kernel does not read."""
        frames = []
        for number, part in enumerate(parts):
            more = MORE if number + 1 < len(parts) else 0
            short = len(part) < 256
            frames += [bytes([more if short else more | LONG]), len(part).to_bytes(1 if short else 8, "big"), part]
        self._writer.write(b"".join(frames))  # in one piece: each write wakes the kernel
        await self._writer.drain()

    async def receive(self, max_bytes: int) -> tuple[list[bytes] | None, int]:
        """The next message and its size; None in its place where it is larger than `max_bytes` (read, but not kept).

        Raises:
            MalformedError: the bytes are not ZMTP.
            EOFError, OSError: the kernel hung up.
        """
        parts: list[bytes] | None = []
        size = 0
        while True:
            flags, length = await self._head()
            size += length
            if flags & COMMAND or parts is None or size > max_bytes or len(parts) >= MAX_PARTS:
                await self._skip(length)
                if flags & COMMAND:
                    continue
                parts = None
            else:
                parts.append(await self._reader.readexactly(length))
            if not flags & MORE:
                return parts, size

    async def _head(self) -> tuple[int, int]:
        flags = (await self._reader.readexactly(1))[0]
        if flags & ~(MORE | LONG | COMMAND):
            raise MalformedError("bytes that are not ZMTP")
        return flags, int.from_bytes(await self._reader.readexactly(8 if flags & LONG else 1), "big")

    async def _skip(self, length: int) -> None:
        while length > 0:
            piece = await self._reader.read(min(length, 2**20))
            if not piece:
                raise EOFError
            length -= len(piece)

    def close(self) -> None:
        """Hang up without waiting for anything unsent."""
        self._writer.transport.abort()
