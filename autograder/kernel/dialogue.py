"""The talk with one kernel: send a request, follow it to one of its many ends, and stop what does not end.

Knows nothing of what is asked. A kernel that does not come back from an interruption is killed, with its whole box.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Literal

from autograder.errors import SandboxError
from autograder.kernel.outputs import Outputs
from autograder.kernel.request import Request, Status, Take, execution
from autograder.kernel.wire import Wire
from autograder.kernel.zmtp import MalformedError
from autograder.sandbox.box import Box
from autograder.sandbox.end import End
from autograder.sandbox.start import refusal

Verdict = Literal["done", "timeout", "flooded", "closed"]

INTERRUPT_S = 2.5
"""How long an interrupted cell may take to stop before the kernel is killed."""

REST_S = 2.0
"""How long the second half of a request may take after the first."""


class Dialogue:
    """One request at a time over connected channels to the kernel in `box`."""

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
        """Connect to a kernel that is starting, and wait until it answers.

        Its reply alone does not do: only a message on the third channel proves that the subscription there is in force.

        Raises:
            SandboxError: it ended, or did not answer within `start_s`.
        """
        deadline = time.monotonic() + box.limits.start_s
        connected = False
        while not connected:
            _check_start(box, deadline)
            try:
                await wire.connect()
                connected = True
            except (OSError, EOFError, MalformedError):
                await asyncio.sleep(0.01)  # its sockets are not there yet
        seen: set[str] = set()
        while not {"shell", "iopub"} <= seen:
            _check_start(box, deadline)
            await wire.send("shell", "kernel_info_request", {})
            again = time.monotonic() + 0.2
            while not {"shell", "iopub"} <= seen:
                message = await wire.receive(again - time.monotonic())
                if message is None or message.kind == "closed":
                    break
                seen.add(message.channel)
        box.seal()
        return cls(wire, box)

    async def execute(
        self, source: str, outputs: Outputs, take: Take, wall_s: float, room: int, *, history: bool
    ) -> tuple[Status, str]:
        """Run `source` and hand its outputs to `take`; returns how it ended and, for some ends, the reason."""
        async with self._turn:
            if not self.alive:
                return self._gone()
            deadline = time.monotonic() + wall_s
            verdict: Verdict = "timeout"  # what it is when the kernel does not even read the request
            run = Request("not sent", outputs, take, room)
            with suppress(TimeoutError):
                request = self._wire.send("shell", "execute_request", execution(source, history=history))
                async with asyncio.timeout(wall_s):
                    run.identity = await request
                verdict = await self._follow(run, deadline)
            if verdict == "timeout" or verdict == "flooded":
                return await self._interrupt(run, verdict)
            if verdict == "closed":
                return await self._bury()
            return run.status, ""

    async def _follow(self, run: Request, deadline: float) -> Verdict:
        """Read messages until the request is done, or cannot be."""
        while not run.done:
            limit = deadline
            if run.replied or run.idle:  # the other half follows at once, or was lost
                limit = min(deadline, run.half_since + REST_S)
            message = await self._wire.receive(limit - time.monotonic())
            if message is None:
                return "timeout" if limit == deadline else "flooded"
            if message.kind == "closed":
                return "closed"
            if not run.take(message):
                return "flooded"
        return "done"

    async def _interrupt(self, run: Request, verdict: Status) -> tuple[Status, str]:
        """Stop the cell, or the kernel when the cell does not stop."""
        run.discard()
        deadline = time.monotonic() + INTERRUPT_S
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self._wire.send("control", "interrupt_request", {})
        after = await self._follow(run, deadline)
        # An interruption that came too late hits the kernel between two cells, where it can swallow a reply: go on only
        # when the kernel is seen to answer again.
        while after == "done" and not await self._answers(deadline):
            after = "done" if time.monotonic() < deadline else "timeout"
        if after == "closed" or not self._box.alive:
            return await self._bury()
        if after != "done":
            self._lost = "The kernel was stopped, because an earlier cell did not stop when it was interrupted."
            self._box.stop()
            await self.ended()
        return verdict, ""

    async def _answers(self, deadline: float) -> bool:
        hello = Request(await self._wire.send("shell", "kernel_info_request", {}), Outputs(0), lambda message: True, 0)
        hello.discard(interrupted=True)
        return await self._follow(hello, min(deadline, time.monotonic() + 0.5)) == "done"

    async def _bury(self) -> tuple[Status, str]:
        """The kernel hung up: find out why."""
        end = await self.ended(REST_S)
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


def _check_start(box: Box, deadline: float) -> None:
    if box.alive:
        if time.monotonic() < deadline:
            return
        raise SandboxError(
            f"The kernel did not answer within {box.limits.start_s:g} s. "
            "Raise start_s or look at the machine's load; `autograder doctor` tries a box too."
        )
    end = box.ended.result()
    if end.tail.startswith("bwrap: "):
        raise refusal(end.tail.strip())
    raise SandboxError(
        f"The kernel ended while it started: {end.sentence(box.limits)} Its last words: {end.tail.strip()!r}. "
        "Run `autograder doctor` for the remedy."
    )
