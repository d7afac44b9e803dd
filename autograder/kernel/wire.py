"""The grader's end of the socket to a kernel (`autograder.template.link` is the other): frames, each read no further than a bound.

What comes in was perhaps written by a student's code. So a message proves nothing, not even that a cell has ended: its fields have
the right types here, and no more. A sender that is too fast waits, since nothing is read ahead.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from autograder.errors import SandboxError
from autograder.sandbox.policy import MESSAGE_MB

READ_AHEAD = 2**16
WORD_BYTES = 16
NO_LENGTH = 2**30
"""No display is that large: whoever claims it has damaged the connection."""


@dataclass(frozen=True)
class Message:
    """One message of the kernel. `kind` is its type, or "closed", "oversize", "malformed" for what is not a message."""

    kind: str
    parent: str
    content: dict[str, Any]
    size: int
    data: bytes = b""


class Wire:
    """One connection, made before the kernel is; `theirs` goes to the kernel, or `where` tells it how to get there."""

    def __init__(self, *, tcp: bool = sys.platform == "win32") -> None:
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._length: int | None = None  # of a frame whose head was read
        self._word = secrets.token_bytes(WORD_BYTES)
        self.theirs: socket.socket | None = None
        if tcp:  # where a child process cannot inherit a socket
            self._ours = socket.create_server(("127.0.0.1", 0))
            self._ours.setblocking(False)
            self.where = f"{self._ours.getsockname()[1]}:{self._word.hex()}"
        else:
            self._ours, self.theirs = socket.socketpair()
            self.where = str(self.theirs.fileno())

    async def open(self) -> None:
        """Be ready to send and receive; over TCP, wait for whoever knows the word."""
        if self.theirs is None:
            self._ours = await self._accepted(self._ours)
        self._reader, self._writer = await asyncio.open_connection(sock=self._ours, limit=READ_AHEAD)

    async def _accepted(self, server: socket.socket) -> socket.socket:
        loop = asyncio.get_running_loop()
        with server:
            while True:
                connection, _ = await loop.sock_accept(server)
                with suppress(OSError, TimeoutError):
                    async with asyncio.timeout(1):
                        said = await loop.sock_recv(connection, WORD_BYTES)
                    if secrets.compare_digest(said, self._word):
                        return connection
                connection.close()

    async def send(self, kind: str, identity: str, data: bytes = b"", **fields: Any) -> None:
        """Send a request; a kernel that is gone is seen when receiving, not here."""
        body = json.dumps({"kind": kind, "id": identity, **fields}).encode() + (b"\0" + data if data else b"")
        writer = self._opened(self._writer)
        with suppress(OSError):
            writer.write(len(body).to_bytes(4, "big") + body)
            await writer.drain()

    async def receive(self) -> Message:
        """Return the next message; a call that was cancelled loses none."""
        reader = self._opened(self._reader)
        try:
            if self._length is None:
                self._length = int.from_bytes(await reader.readexactly(4), "big")
            length = self._length
            if length > NO_LENGTH:
                return Message("closed", "", {}, 0)
            if length > MESSAGE_MB * 2**20:
                await self._skip(reader)
                return Message("oversize", "", {}, length)
            body = await reader.readexactly(length)
        except (EOFError, OSError):
            return Message("closed", "", {}, 0)
        self._length = None
        return _parsed(body)

    async def _skip(self, reader: asyncio.StreamReader) -> None:
        while self._length:
            piece = await reader.read(min(self._length, 2**20))
            if not piece:
                raise EOFError
            self._length -= len(piece)
        self._length = None

    @staticmethod
    def _opened(end: Any) -> Any:
        if end is None:
            raise SandboxError("The connection to the kernel is not open.")
        return end

    def close(self) -> None:
        """Hang up; nothing is left running."""
        if self._writer is not None:
            self._writer.transport.abort()
        self._ours.close()
        if self.theirs is not None:
            self.theirs.close()


def _parsed(body: bytes) -> Message:
    text, _, data = body.partition(b"\0")
    try:
        message = json.loads(text)
        kind, parent, content = message["kind"], message["parent"], message["content"]
    except (ValueError, LookupError, TypeError, RecursionError):  # a stranger's bytes
        return Message("malformed", "", {}, len(body))
    if not (isinstance(kind, str) and isinstance(parent, str) and isinstance(content, dict)):
        return Message("malformed", "", {}, len(body))
    return Message(kind, parent, content, len(body), data)
