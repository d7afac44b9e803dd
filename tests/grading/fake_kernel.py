"""A kernel session without a kernel, for tests of what is done with one: cells run in this process, and `die()` ends it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograder.kernel.client import Answer, CellRun
from autograder.kernel.outputs import CellError
from autograder.probe.serve import READY, answer, request
from autograder.sandbox.policy import Limits
from autograder.trace.codec import dump_traces, load_reply
from autograder.trace.parcel import pack, unpack


class Died(BaseException):
    """How code in the fake kernel ends it."""


class FakeKernel:
    """It counts how many were started and what they ran; `reply` is a forged answer."""

    started: int = 0
    open: int = 0
    ran: Sequence[str] = ()
    starts: bool = True
    reply: bytes | None = None

    def __init__(self, limits: Limits, **_: object) -> None:
        self.limits, self.alive = limits, True
        self.names: dict[str, Any] = {"die": self.die}

    def die(self, *_: object) -> None:
        """End the kernel."""
        self.alive = False
        raise Died

    async def __aenter__(self) -> FakeKernel:
        type(self).started += 1
        type(self).open += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        type(self).open -= 1

    def end_by(self, time_s: float) -> None:
        """A fake takes no time."""

    async def run_cell(self, source: str) -> CellRun:
        """Run a cell here."""
        assert self.alive, "a dead kernel was given a cell"
        type(self).ran = [*type(self).ran, source]
        try:
            exec(source, self.names)
        except Died:
            return CellRun("dead", (), None, "The kernel died.", 0.1)
        except Exception as error:
            return CellRun("error", (), CellError(type(error).__name__, str(error), ""), "", 0.1)
        return CellRun("ok", (), None, "", 0.1)

    async def ask(self, function: str, given: bytes, **_: object) -> Answer:
        """Run our own question here."""
        assert self.alive, "a dead kernel was asked"
        if function == READY:
            return Answer("ok", dump_traces([]), None, "") if self.starts else Answer("dead", None, None, "It is ill.")
        if self.reply is not None:
            return Answer("ok", pack([self.reply]), None, "")
        replies = []
        for one in unpack(given, 100):
            (reply,) = unpack(answer(request(one), self.names), 1)
            if not self.alive:
                return Answer("dead", None, None, "The kernel died.")
            replies.append(reply)
            if load_reply(reply).took_too_long:
                break
        return Answer("ok", pack(replies), None, "")
