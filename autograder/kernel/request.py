"""One request to a kernel on its way: which messages belong to it, and when it is done.

A request has two halves that arrive on two channels in any order: the reply, and the word that the kernel is idle
again after all outputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

from autograder.kernel.outputs import Outputs
from autograder.kernel.wire import Message

Status = Literal["ok", "error", "timeout", "dead", "flooded"]
Take = Callable[[Message], bool]


class Request:
    """What has come of one request, and how much was read.

    `take` gets the messages that are its outputs, and says whether there is room for more; `room` bounds the bytes of
    all messages that arrive meanwhile.
    """

    def __init__(self, identity: str, outputs: Outputs, take: Take, room: int) -> None:
        self.identity = identity
        self.outputs = outputs
        self.status: Status = "error"
        self.replied = self.idle = False
        self.half_since = 0.0
        self._interrupted = True  # nothing to wait for
        self._discarding = False
        self._take: Take = take
        self._room = room

    @property
    def done(self) -> bool:
        """True when both halves are there, and an interruption is confirmed."""
        return self.replied and self.idle and self._interrupted

    def discard(self, *, interrupted: bool = False) -> None:
        """From now on wait only for the end, and for the word that the interruption was sent unless it was before."""
        self._interrupted = interrupted
        self._discarding = True
        self._take = lambda message: True

    def take(self, message: Message) -> bool:
        """Take a message; False when it was one too many. Those of other requests only count."""
        if not self._discarding:
            self._room -= message.size
            if self._room < 0 or message.kind == "oversize":
                return False
        if message.channel == "control" and message.kind == "interrupt_reply":
            self._interrupted = True
        if message.parent != self.identity:
            return True
        if message.channel == "shell" and message.kind.endswith("_reply") and not self.replied:
            self._reply(message.content)
        elif message.channel == "iopub":
            if message.kind != "status":
                return self._take(message)
            if message.content.get("execution_state") == "idle":
                self.idle = True
                self.half_since = time.monotonic()
        return True

    def _reply(self, content: dict[str, Any]) -> None:
        self.replied = True
        self.half_since = time.monotonic()
        self.status = "ok" if content.get("status") == "ok" else "error"
        if self.status == "error" and self.outputs.error is None:
            self.outputs.set_error(content)


def execution(source: str, *, history: bool) -> dict[str, Any]:
    """The content of a request to run `source`; it may not ask for input."""
    return {
        "code": source,
        "silent": False,
        "store_history": history,
        "user_expressions": {},
        "allow_stdin": False,
        "stop_on_error": False,
    }
