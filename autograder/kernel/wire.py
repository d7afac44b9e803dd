"""The three channels to a kernel, and its messages after every check that does not depend on what was asked.

A message that is malformed, unsigned or of a foreign session is counted and dropped. Whoever runs in the kernel holds
its key, so a signature says "from this kernel", never "true".
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from jupyter_client.connect import write_connection_file
from jupyter_client.session import Session

from autograder.kernel.zmtp import MalformedError, Stream
from autograder.sandbox.policy import MESSAGE_MB

Channel = Literal["shell", "control", "iopub"]
PORTS: dict[str, int] = {"shell": 1, "iopub": 2, "stdin": 3, "control": 4, "hb": 5}
KINDS: dict[Channel, str] = {"iopub": "SUB", "shell": "DEALER", "control": "DEALER"}


@dataclass(frozen=True)
class Message:
    """One message of the kernel. `kind` is its type, or "closed", "oversize", "malformed" for what is not a message."""

    channel: Channel
    kind: str
    parent: str
    content: dict[str, Any]
    size: int


@dataclass(frozen=True)
class Connection:
    """How to reach a kernel: its connection file, the key that signs messages, and the address of each channel."""

    path: Path
    key: str
    addresses: dict[Channel, str | tuple[str, int]]


def write_connection(folder: Path, *, tcp: bool = False) -> Connection:
    """Write the connection file of a kernel into its run folder, before the kernel starts.

    The sockets are `k-1` to `k-5` beside it. `tcp` (where there are no Unix sockets) takes free ports of 127.0.0.1.
    """
    key = secrets.token_hex(32)
    ports: dict[str, Any] = {} if tcp else {f"{name}_port": port for name, port in PORTS.items()}
    path, written = write_connection_file(
        str(folder / "c.json"),
        ip="127.0.0.1" if tcp else str(folder / "k"),
        transport="tcp" if tcp else "ipc",
        key=key.encode(),
        kernel_name="",
        **ports,
    )
    given: dict[str, Any] = dict(written)
    addresses: dict[Channel, str | tuple[str, int]] = {}
    for channel in KINDS:
        port = int(given[f"{channel}_port"])
        addresses[channel] = ("127.0.0.1", port) if tcp else str(folder / f"k-{port}")
    return Connection(Path(path), key, addresses)


class Wire:
    """Open channels; `receive` gives the messages of all of them in the order of arrival."""

    def __init__(self, connection: Connection) -> None:
        self._addresses = connection.addresses
        self._session = Session(key=connection.key.encode(), username="grader")
        self._streams: dict[Channel, Stream] = {}
        self._readers: list[asyncio.Task[None]] = []
        # Short, so that a kernel that floods us waits instead of filling our memory.
        self._queue: asyncio.Queue[Message] = asyncio.Queue(maxsize=4)

    async def connect(self) -> None:
        """Connect the channels that are not connected yet.

        Raises:
            OSError: one is not there yet; call again.
        """
        for channel, kind in KINDS.items():
            if channel not in self._streams:
                stream = await Stream.connect(self._addresses[channel], kind)
                self._streams[channel] = stream
                self._readers.append(asyncio.create_task(self._read(channel, stream)))

    async def send(self, channel: Channel, kind: str, content: dict[str, Any]) -> str:
        """Send a request; returns its id. A kernel that is gone is seen when receiving, not here."""
        message = self._session.msg(kind, content)
        # jupyter_client counts its ids up, so that one cell could answer the requests after it in advance.
        message["header"]["msg_id"] = message["msg_id"] = secrets.token_hex(16)
        with suppress(OSError):
            await self._streams[channel].send(self._session.serialize(message))
        return str(message["header"]["msg_id"])

    async def receive(self, timeout_s: float) -> Message | None:
        """The next message, or None when the time is over."""
        with suppress(asyncio.QueueEmpty):
            return self._queue.get_nowait()
        if timeout_s <= 0:
            return None
        try:
            async with asyncio.timeout(timeout_s):  # wait_for may swallow a cancellation
                return await self._queue.get()
        except TimeoutError:
            return None

    async def _read(self, channel: Channel, stream: Stream) -> None:
        # The last two: it hung up. The first: whatever it speaks, it is no kernel any more.
        with suppress(MalformedError, EOFError, OSError):
            while True:
                parts, size = await stream.receive(MESSAGE_MB * 2**20)
                if parts is None:
                    await self._queue.put(Message(channel, "oversize", "", {}, size))
                else:
                    await self._queue.put(self._parse(channel, parts, size))
        stream.close()
        await self._queue.put(Message(channel, "closed", "", {}, 0))

    def _parse(self, channel: Channel, parts: list[bytes], size: int) -> Message:
        try:
            message = self._session.deserialize(self._session.feed_identities(parts)[1])
            kind, parent, content = message["msg_type"], message["parent_header"], message["content"]
            parent_id = parent.get("msg_id", "")
            if isinstance(kind, str) and isinstance(parent_id, str) and isinstance(content, dict):
                return Message(channel, kind, parent_id, content, size)
        except Exception:
            # Any error at all: the bytes are a stranger's, and the parser is not ours.
            pass
        return Message(channel, "malformed", "", {}, size)

    def close(self) -> None:
        """Hang up; nothing is left running."""
        for reader in self._readers:
            reader.cancel()
        for stream in self._streams.values():
            stream.close()
