"""What a notebook prints: sys.stdout and sys.stderr as text, and what programs write to file descriptors 1 and 2.

As in any notebook, text of this process and of its children is shown, in pieces, as it comes. Text of this process is kept back
for a moment, so that a line is one piece; who prints and then computes for an hour is shown all the same, since another thread
looks after it. A forked child has no way to the grader but the file descriptors, and takes them.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from autograder.template.link import Link

LARGEST_PIECE = 8192
KEPT_BACK_S = 0.05
PIPE_BYTES = 65536
PIECES_AT_ONCE = 16  # of a pipe that a child fills without end
DESCRIPTORS = {"stdout": 1, "stderr": 2}


class Stream(io.TextIOBase):
    """One of the two, with what code expects of a notebook's: no terminal, UTF-8, any thread may write."""

    def __init__(self, link: Link, name: str, drain: Callable[[], None]) -> None:
        super().__init__()
        self._drain = drain  # what children have written by now
        self.name = f"<{name}>"
        self._link, self._kind, self._descriptor = link, name, DESCRIPTORS[name]
        self._lock = threading.RLock()
        self._pieces: list[str] = []
        self._size = 0
        self._flushed_s = 0.0
        self._process = os.getpid()
        self._open = True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """As text is encoded."""
        return "UTF-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        """What becomes of text that cannot be encoded."""
        return "replace"

    def writable(self) -> bool:
        """Yes."""
        return True

    def isatty(self) -> bool:
        """No."""
        return False

    def fileno(self) -> int:
        """The descriptor whose text ends up in the notebook, too."""
        return self._descriptor

    def write(self, text: str) -> int:
        """Show text, in a moment at the latest."""
        if not self._open:
            raise ValueError("I/O operation on closed file")
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if os.getpid() != self._process:
            os.write(self._descriptor, text.encode("utf-8", "replace"))
            return len(text)
        with self._lock:
            self._pieces.append(text)
            self._size += len(text)
        if self._size >= LARGEST_PIECE or time.monotonic() - self._flushed_s > KEPT_BACK_S:
            self.show()
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:  # type: ignore[override]
        """Write each of them."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Show now what was kept back, and what children have written."""
        if os.getpid() == self._process:
            self.show()
            self._drain()

    def show(self) -> None:
        """Show now what was kept back."""
        with self._lock:
            text = "".join(self._pieces)
            self._pieces.clear()
            self._size = 0
            self._flushed_s = time.monotonic()
            if text:
                self._link.send("stream", {"name": self._kind, "text": text})

    def close(self) -> None:
        """Take no more text, as any file; the notebook's other outputs go on."""
        self.show()
        self._open = False

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return not self._open


class Streams:
    """Both, put in place, with the pipes that now stand behind descriptors 1 and 2."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._lock = threading.Lock()
        self.pipes: dict[int, str] = {}
        self._decoders: dict[int, codecs.IncrementalDecoder] = {}
        self.both = tuple(Stream(link, name, self.drain) for name in DESCRIPTORS)
        if sys.platform != "win32":
            for name, descriptor in DESCRIPTORS.items():
                reader, writer = os.pipe()
                os.dup2(writer, descriptor)
                os.close(writer)
                os.set_blocking(reader, False)
                self.pipes[reader] = name
                self._decoders[reader] = codecs.getincrementaldecoder("utf-8")("replace")
        sys.stdout, sys.stderr = self.both

    def flush(self) -> None:
        """Show what was kept back, and what lies in the pipes."""
        self.show()
        self.drain()

    def show(self) -> None:
        """Show what was kept back."""
        for stream in self.both:
            stream.show()

    def drain(self) -> None:
        """Show what lies in the pipes."""
        with self._lock:
            for reader, name in self.pipes.items():
                with suppress(BlockingIOError):
                    for _ in range(PIECES_AT_ONCE):
                        text = self._decoders[reader].decode(os.read(reader, PIPE_BYTES))
                        self._link.send("stream", {"name": name, "text": text})
