"""The talk with one kernel: send a request, follow it to one of its many ends, and stop what does not end.

Knows nothing of what is asked. A kernel that does not come back from an interruption is killed, with its whole box.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from typing import Literal

from autograder.errors import SandboxError
from autograder.kernel.outputs import Outputs
from autograder.kernel.request import Request, Status, Take
from autograder.kernel.wire import Wire
from autograder.sandbox.box import Box
from autograder.sandbox.end import End
from autograder.sandbox.start import refusal

Verdict = Literal["done", "timeout", "flooded", "closed"]

INTERRUPT_S = 2.5
"""How long an interrupted cell may take to stop before the kernel is killed."""

END_S = 2.0
"""How long a kernel that hung up may take to end before it is killed."""


class Dialogue:
    """One request at a time over the connection to the kernel in `box`."""

    def __init__(self, wire: Wire, box: Box) -> None:
        self._wire = wire
        self._box = box
        self._lost = ""  # why the kernel was given up, where its box does not tell
        self._turn = asyncio.Lock()

    @property
    def alive(self) -> bool:
        """True while the kernel can take another request."""
        return self._box.alive and not self._lost

    @classmethod
    async def open(cls, wire: Wire, box: Box) -> Dialogue:
        """Wait until a kernel that is starting says that it is there.

        Raises:
            SandboxError: it ended, or said nothing within `start_s`.
        """
        made = cls(wire, box)
        hello = asyncio.ensure_future(_hello(wire))
        ended = asyncio.wrap_future(box.ended)
        try:
            await asyncio.wait((hello, ended), timeout=box.limits.start_s, return_when=asyncio.FIRST_COMPLETED)
            if hello.done() and hello.result():
                return made
        finally:
            hello.cancel()
        end = await made.ended(END_S) if hello.done() or ended.done() else None
        raise _no_start(box, end)

    async def request(
        self, kind: str, outputs: Outputs, take: Take, wall_s: float, room: int, data: bytes = b"", **fields: str
    ) -> tuple[Status, str]:
        """Send a request and hand what it shows to `take`; returns how it ended and, for some ends, the reason."""
        async with self._turn:
            if not self.alive:
                return self._gone()
            # Not to be guessed, so that no cell can answer for the ones after it.
            run = Request(secrets.token_hex(16), outputs, take, room)
            verdict: Verdict = "timeout"
            with suppress(TimeoutError):
                async with asyncio.timeout(wall_s):
                    await self._wire.send(kind, run.identity, data, **fields)
                    verdict = await self._follow(run)
            if verdict == "timeout" or verdict == "flooded":
                return await self._interrupt(run, verdict)
            if verdict == "closed":
                return await self._bury()
            return run.status, ""

    async def _follow(self, run: Request) -> Verdict:
        """Read messages until the request is done, or cannot be."""
        while not run.done:
            message = await self._wire.receive()
            if message.kind == "closed":
                return "closed"
            if not run.take(message):
                return "flooded"
        return "done"

    async def _interrupt(self, run: Request, verdict: Status) -> tuple[Status, str]:
        """Stop the cell, or the kernel when the cell does not stop."""
        run.discard()
        after: Verdict = "timeout"
        with suppress(TimeoutError):
            async with asyncio.timeout(INTERRUPT_S):
                await self._wire.send("interrupt", run.identity)
                after = await self._follow(run)
        if after == "closed" or not self._box.alive:
            return await self._bury()
        if after != "done":
            self._lost = "The kernel was stopped, because an earlier cell did not stop when it was interrupted."
            self._box.stop()
            await self.ended()
        return verdict, ""

    async def _bury(self) -> tuple[Status, str]:
        """The kernel hung up: find out why."""
        end = await self.ended(END_S)
        if end is None:
            self._lost = "The kernel closed its connection to the grader and was stopped."
            self._box.stop()
            await self.ended()
        return self._gone()

    async def ended(self, timeout_s: float = 10) -> End | None:
        """Wait until the whole box is gone; None when it is not in time."""
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(asyncio.wrap_future(self._box.ended))
        except TimeoutError:
            return None

    def _gone(self) -> tuple[Status, str]:
        if self._lost or self._box.alive:
            return "dead", self._lost or "The kernel is not running."
        end = self._box.ended.result()
        return "timeout" if end.cause in ("cpu", "wall") else "dead", end.sentence(self._box.limits)


async def _hello(wire: Wire) -> bool:
    await wire.open()
    return (await wire.receive()).kind != "closed"


def _no_start(box: Box, end: End | None) -> SandboxError:
    if end is None:
        return SandboxError(
            f"The kernel did not answer within {box.limits.start_s:g} s. "
            "Raise start_s or look at the machine's load; `autograder doctor` tries a box too."
        )
    if end.tail.startswith("bwrap: "):
        return refusal(end.tail.strip())
    return SandboxError(
        f"The kernel ended while it started: {end.sentence(box.limits)} Its last words: {end.tail.strip()!r}. "
        "Run `autograder doctor` for the remedy."
    )
