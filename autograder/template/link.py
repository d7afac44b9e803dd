"""The kernel's end of the socket to the grader: frames out from any thread, frames in to one that waits for them.

A frame is four bytes of length, most significant first, then JSON text, and after a zero byte, which no JSON text holds, data as
they are. What it is not: a secret, or a proof. Student code in this process can write to the socket as well, and the grader
believes nothing that comes out of it.

Theory of operation. An interruption must not tear a frame, or all that follows would be lost. Signals are handled between two
steps of the main thread, so while that sends, an interruption is only noted, and raised when the frame is whole. Whatever else
goes wrong in the middle of a frame hangs up: the grader then takes the kernel for dead, and starts another.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from contextlib import suppress
from typing import Any

LARGEST_REQUEST = 2**26


class Link:
    """One connected stream socket; made by the main thread."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self.parent = ""  # the request that what is sent belongs to
        self._main = threading.get_ident()
        self._lock = threading.Lock()
        self._sending = 0  # by the main thread
        self._late = False  # it was interrupted meanwhile
        self._process = os.getpid()

    def send(self, kind: str, content: dict[str, Any], parent: str | None = None, data: bytes = b"") -> None:
        """Send one frame; nothing from a forked child, whose frames would tear those of its parent."""
        if os.getpid() != self._process:
            return
        message = {"kind": kind, "parent": self.parent if parent is None else parent, "content": content}
        text = json.dumps(message, default=str).encode() + (b"\0" if data else b"")
        self._send((len(text) + len(data)).to_bytes(4, "big") + text, data)

    def _send(self, frame: bytes, data: bytes) -> None:
        main = threading.get_ident() == self._main
        self._sending += main
        try:
            with self._lock:
                self.socket.sendall(frame)
                if data:  # which may be large, and is not copied
                    self.socket.sendall(data)
        except BaseException:
            self.close()
            raise
        finally:
            self._sending -= main
        if main and self._late and not self._sending:
            self._late = False
            raise KeyboardInterrupt

    def interrupt(self, *_: object) -> None:
        """Handle SIGINT while a cell runs."""
        if self._sending:
            self._late = True
        else:
            raise KeyboardInterrupt

    def receive(self) -> dict[str, Any] | None:
        """Return the next frame of the grader, its data under that name, or None when it has hung up; waits for it."""
        head = self._read(4)
        body = self._read(min(int.from_bytes(head, "big"), LARGEST_REQUEST))
        text, _, data = body.partition(b"\0")
        return {**json.loads(text), "data": data} if body else None

    def _read(self, length: int) -> bytes:
        pieces = []
        while length > 0:
            try:
                piece = self.socket.recv(min(length, 2**20))
            except OSError:
                piece = b""
            if not piece:
                return b""
            pieces.append(piece)
            length -= len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """Hang up, for every process that holds the socket."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
