"""One request to a kernel on its way: which messages belong to it, and when it is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

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
        self.done = False
        self._discarding = False
        self._take: Take = take
        self._room = room

    def discard(self) -> None:
        """From now on wait only for the end."""
        self._discarding = True

    def take(self, message: Message) -> bool:
        """Take a message; False when it was one too many. Those of other requests only count."""
        if not self._discarding:
            self._room -= message.size
            if self._room < 0 or message.kind == "oversize":
                return False
        if message.parent != self.identity:
            return True
        if message.kind == "reply":
            self.done = True
            self.status = "ok" if message.content.get("status") == "ok" else "error"
            if self.status == "error" and self.outputs.error is None:
                self.outputs.set_error(message.content)
            return True
        return self._discarding or self._take(message)
