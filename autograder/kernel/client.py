"""A session with one kernel in its box: run a student's cell, ask a question of our own, leave nothing behind.

Nothing that student code does is an exception here: it ends in a `CellRun` or an `Answer` whose status is one of five
words. Only a kernel that cannot be started raises. Nothing that comes back is trusted beyond its shape: code in the
kernel can forge any reply, so what an answer says must be judged by whoever asked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from autograder.errors import SandboxError
from autograder.kernel.dialogue import Dialogue
from autograder.kernel.launch import ready, start_shell
from autograder.kernel.outputs import CellError, Outputs
from autograder.kernel.request import Status
from autograder.kernel.wire import Message, Wire
from autograder.sandbox.box import Box
from autograder.sandbox.policy import MESSAGE_MB, Limits


@dataclass(frozen=True)
class CellRun:
    """How a student's cell ended; `reason` is a sentence for the student where it timed out, died or flooded."""

    status: Status
    outputs: tuple[dict[str, Any], ...]
    error: CellError | None
    reason: str
    wall_s: float


@dataclass(frozen=True)
class Answer:
    """What our own code in the kernel gave back: bytes, or why there are none."""

    status: Status
    data: bytes | None
    error: CellError | None
    reason: str


class KernelSession:
    """An async context manager around one kernel.

    Args:
        limits: bounds of this submission; `wall_notebook_s` starts when the kernel does.
        sandboxed: False runs the kernel as an ordinary process of this user, which every report must say.
        ahead: modules that the code will most likely import, by their full names, which a template may do for all kernels.

    Raises (on entering):
        SandboxUnavailable: this machine cannot give a sandbox.
        SandboxError: the kernel did not start.
    """

    def __init__(self, limits: Limits, *, sandboxed: bool = True, ahead: Sequence[str] = ()) -> None:
        self.limits = limits
        self.sandboxed = sandboxed
        self.ahead = ahead
        self._displays: dict[str, dict[str, Any]] = {}
        self._box: Box | None = None
        self._wire: Wire | None = None
        self._dialogue: Dialogue | None = None

    @property
    def alive(self) -> bool:
        """True while the kernel can take another cell."""
        return self._dialogue is not None and self._dialogue.alive

    @property
    def peak_memory_mb(self) -> float:
        """The most memory that the whole process tree was seen to hold."""
        return self._box.peak_memory_mb if self._box else 0.0

    async def __aenter__(self) -> KernelSession:
        await ready(sandboxed=self.sandboxed)
        self._wire = Wire()
        try:
            future = start_shell(self._wire, self.limits, sandboxed=self.sandboxed, ahead=self.ahead)
            try:
                self._box = await asyncio.shield(asyncio.wrap_future(future))
            except asyncio.CancelledError:
                future.add_done_callback(lambda done: None if done.exception() else done.result().stop())
                raise
            self._dialogue = await Dialogue.open(self._wire, self._box)
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._end()

    def end_by(self, time_s: float) -> None:
        """End it at that time of `time.monotonic` at the latest, as a second kernel of one submission must."""
        if self._box is not None:
            self._box.ends_s = min(self._box.ends_s, time_s)

    async def run_cell(self, source: str, *, wall_s: float | None = None) -> CellRun:
        """Run a student's cell and keep what it showed.

        At `wall_s` (by default the limit per cell) it is interrupted; if it does not stop then, the kernel is killed
        and `alive` turns false. The same goes for output over the limit.
        """
        limit_s = self.limits.wall_cell_s if wall_s is None else wall_s
        room = int(self.limits.output_mb * 2**20)
        outputs = Outputs(room, self._displays)
        started = time.monotonic()

        def take(message: Message) -> bool:
            outputs.add(message.kind, message.content)
            return not outputs.full

        wall = limit_s * self.limits.stretch
        status, reason = await self._entered().request("execute", outputs, take, wall, 4 * room + 2**22, code=source)
        if status == "timeout" and not reason:
            reason = f"The cell ran for more than {limit_s:g} s and was stopped."
        if status == "flooded" and not reason:
            reason = f"The cell printed or showed more than {self.limits.output_mb:g} MB and was stopped."
        return CellRun(status, outputs.notebook_outputs(), outputs.error, reason, time.monotonic() - started)

    async def ask(self, function: str, given: bytes, *, wall_s: float, max_bytes: int) -> Answer:
        """Call a function of ours in the kernel, `module:name`, with bytes and the notebook's names; take the bytes it returns.

        What the code prints and shows meanwhile is thrown away. Status "ok" always comes with data.
        """
        if max_bytes > MESSAGE_MB * 2**20 - 2**16:
            raise ValueError(f"max_bytes is {max_bytes}, more than one message of {MESSAGE_MB} MB can carry.")
        outputs = Outputs(0)
        found: list[bytes] = []

        def take(message: Message) -> bool:
            if message.kind == "answer" and not found:
                found.append(message.data)
            return True

        # What is printed shares what a cell may print.
        room = max_bytes + 2**16 + int(4 * self.limits.output_mb * 2**20)
        wall = wall_s * self.limits.stretch
        status, reason = await self._entered().request("ask", outputs, take, wall, room, given, function=function)
        if status != "ok":
            if status == "timeout" and not reason:
                reason = f"The check of the code took more than {wall_s:g} s and was stopped."
            if status == "flooded" and not reason:
                reason = "The code printed or returned too much while it was checked, and was stopped."
            return Answer(status, None, outputs.error, reason)
        if not found:
            return Answer("error", None, None, "The kernel gave no answer to the grader's question.")
        if len(found[0]) > max_bytes:
            return Answer("flooded", None, None, f"The answer was larger than {max_bytes} bytes.")
        return Answer("ok", found[0], None, "")

    def _entered(self) -> Dialogue:
        if self._dialogue is None:
            raise SandboxError("The kernel session is not open. Use it as `async with KernelSession(...) as session`.")
        return self._dialogue

    async def _end(self) -> None:
        if self._wire is not None:
            self._wire.close()
        if self._box is not None:
            self._box.stop()
            with suppress(TimeoutError):
                async with asyncio.timeout(10):
                    await asyncio.shield(asyncio.wrap_future(self._box.ended))
