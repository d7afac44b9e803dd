"""Play a notebook in a kernel: the student's cells run, the checks' cells become requests to the probe.

Theory of operation. Cells run from top to bottom, as they would for the student. Where a graded cell stands, its text is not run;
the kernel is asked to run the check's scenarios on the names that are defined at that moment, several checks in one request where
no code stands between them. A kernel that dies, or is stopped, is replaced: the student's cells up to there run again without the
one that was deadly, and the rest goes on, so that one bad cell does not cost the others. How often that may happen, and how long
all of it may take, is limited. Nothing here judges: traces and reasons come out.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Coroutine, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from autograder.errors import ProtocolError, SandboxError
from autograder.grading.judge import Judge
from autograder.kernel.client import CellRun, KernelSession
from autograder.probe.serve import ANSWER, READY, request
from autograder.sandbox.policy import Limits
from autograder.trace.codec import MAX_BYTES, load_reply
from autograder.trace.parcel import unpack
from autograder.trace.reply import Reply
from autograder.trace.trace import Trace

CHECK_WALL_S = 90.0  # a guard; CPU time decides, in the probe for each step and in the sandbox for all
RESTARTS = 4
# How long the thread that judges may keep Python to itself while the one that speaks with the kernels has to wait. With the
# 5 ms that are usual, a kernel that has answered stands still for as long, some thirty times in a notebook.
SWITCH_S = 0.0005
DEATHS_OF_AN_EXERCISE = 2  # after so many checks that were stopped, the rest of an exercise is not run

# What code like this has torch import when it runs; the template imports it once instead, which takes a second. The words in
# front stand wherever the expression may fit; to search for a word takes a tenth of the time.
AHEAD = (
    ("torch._dynamo", "optim", re.compile(r"\boptim\.[A-Z]\w*\(|\boptim import\b")),
    ("torch.fx.experimental.symbolic_shapes", ".backward(", re.compile(r"\.backward\(\s*[^)\s]")),
    ("torch.fx.experimental.symbolic_shapes", "autograd.", re.compile(r"\bautograd\.(grad|backward)\(")),
)

T = TypeVar("T")


@dataclass(frozen=True)
class Item:
    """One thing to play: the student's code (or ours for set-up), or a check by its name."""

    source: str = ""
    check: str | None = None
    skip: bool = False  # code that nothing graded needs, an experiment for instance


@dataclass
class Played:
    """What came of it: for each item its outputs, for each check its traces or the reason why there are none."""

    # No repr: asyncio.run asks for that of what a task has returned, and all numbers in words take a tenth of a second.
    outputs: dict[int, CellRun] = field(default_factory=dict, repr=False)
    traces: dict[str, Sequence[Trace]] = field(default_factory=dict, repr=False)
    reasons: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def kernel_seed(seed: int) -> int:
    """Return the seed of a kernel's random numbers: from the grading seed, which nobody can find out from it."""
    return int.from_bytes(hashlib.sha256(f"kernel {seed}".encode()).digest()[:4], "big")


def play(items: Sequence[Item], judge: Judge, limits: Limits, *, sandboxed: bool = True) -> Played:
    """Play the items in a kernel of their own; SandboxError when no kernel can be had."""
    return finish(playing(items, judge, limits, sandboxed=sandboxed))


async def playing(items: Sequence[Item], judge: Judge, limits: Limits, *, sandboxed: bool = True) -> Played:
    """As `play`, for an event loop in which several notebooks are played at a time."""
    return await _Player(items, judge, limits, sandboxed).play()


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where an event loop is running already (a Jupyter server's)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def in_background(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine beside this thread, in an event loop that all of this process share; cancelling it ends its kernel."""
    return asyncio.run_coroutine_threadsafe(work, _loop())


@cache
def _loop() -> asyncio.AbstractEventLoop:
    sys.setswitchinterval(SWITCH_S)
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="players", daemon=True).start()
    return loop


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_loop.cache_clear)  # a forked child has no such thread


def ahead(sources: Iterable[str]) -> tuple[str, ...]:
    """Return the modules that code will most likely have torch import."""
    given = tuple(sources)
    likely = (name for name, word, like in AHEAD if any(word in source and like.search(source) for source in given))
    return tuple(dict.fromkeys(likely))


class _Player:
    def __init__(self, items: Sequence[Item], judge: Judge, limits: Limits, sandboxed: bool) -> None:
        self.items, self.judge, self.limits, self.sandboxed = items, judge, limits, sandboxed
        self.played = Played()
        self.ahead = ahead(item.source for item in items if not item.skip)
        self.deadly: set[int] = set()
        self.restarts = 0
        self.stopped: Counter[str] = Counter()  # exercise -> checks that had to be stopped
        self.ends_s = time.monotonic() + limits.wall_notebook_s * limits.stretch
        self.session: KernelSession | None = None
        self.gone = ""  # why no kernel is left

    async def play(self) -> Played:
        try:
            self.session = await self._start()
            together: list[tuple[int, str]] = []  # checks with no code between them
            for index, item in enumerate(self.items):
                if item.check is not None:
                    together.append((index, item.check))
                elif not self.gone and item.source.strip() and not item.skip:
                    await self._ask_all(together)
                    together = []
                    await self._run(index, item)
            await self._ask_all(together)
        finally:
            await self._close()
        return self.played

    async def _start(self) -> KernelSession:
        session = KernelSession(self.limits, sandboxed=self.sandboxed, ahead=self.ahead)
        await session.__aenter__()
        seed = str(kernel_seed(self.judge.seed)).encode()
        answer = await session.ask(READY, seed, wall_s=self.limits.start_s, max_bytes=MAX_BYTES)
        if answer.data is None:
            await session.__aexit__(None, None, None)
            why = answer.reason or (
                f"{answer.error.name}: {answer.error.value}" if answer.error is not None else "no answer"
            )
            raise SandboxError(f"The probe does not start in a kernel: {why} Run `autograder doctor`.")
        # Not before: a kernel that is short of time must not look like one that will not start.
        session.end_by(self.ends_s)
        return session

    async def _close(self) -> None:
        if self.session is not None:
            session, self.session = self.session, None
            await session.__aexit__(None, None, None)

    async def _run(self, index: int, item: Item) -> None:
        assert self.session is not None
        run = await self.session.run_cell(item.source)
        self.played.outputs[index] = run
        if not self.session.alive:
            self.deadly.add(index)
            self.played.notes.append(f"Cell {index + 1} was left out of the rest of the run: {run.reason}")
            await self._revive(index)
        elif run.reason:
            self.played.notes.append(f"Cell {index + 1} did not finish: {run.reason}")

    async def _ask_all(self, asked: Sequence[tuple[int, str]]) -> None:
        """Ask for several checks in one request, and one by one for those that were not answered then.

        One request for each would cost more than what is asked. Whatever goes wrong with it is found out by asking one by one, in
        a kernel that has seen nothing of it.
        """
        replies: dict[str, Reply] = {}  # by question; checks that ask alike share one
        if len(asked) > 1 and self.session is not None and not self.gone:
            await self._try_all([name for _, name in asked], replies)
            if self.session is None or not self.session.alive:
                await self._revive(asked[0][0], counts=False)
        for index, name in asked:
            await self._ask(index, name, replies)

    async def _try_all(self, names: Sequence[str], replies: dict[str, Reply]) -> None:
        """Ask all questions of some checks, and write down the replies, from the first on, that there are now."""
        assert self.session is not None
        checks = [self.judge.lab.check(name) for name in names]
        questions = {self.judge.asking.name(check): self.judge.asking.question(check) for check in checks}
        asked = request(*questions.values())
        answer = await self.session.ask(ANSWER, asked, wall_s=CHECK_WALL_S, max_bytes=MAX_BYTES)
        if answer.data is None:
            if answer.status != "error":
                await self._close()
            return
        with suppress(ProtocolError):
            for question, reply in zip(questions, unpack(answer.data, len(questions)), strict=False):
                replies[question] = load_reply(reply)

    def _keep(self, name: str, traces: Reply) -> None:
        self.played.traces[name] = traces
        if traces.took_too_long:
            self.stopped[self.judge.lab.check(name).exercise] += 1

    async def _ask(self, index: int, name: str, replies: dict[str, Reply]) -> None:
        check = self.judge.lab.check(name)
        question = self.judge.asking.name(check)
        if question in replies:
            self._keep(name, replies[question])
            return
        if self.gone:
            self.played.reasons[name] = self.gone
            return
        if self.stopped[check.exercise] >= DEATHS_OF_AN_EXERCISE:
            self.played.reasons[name] = f"not run: {check.exercise} had to be stopped in two other checks"
            return
        assert self.session is not None
        asked = request(self.judge.asking.question(check))
        answer = await self.session.ask(ANSWER, asked, wall_s=CHECK_WALL_S, max_bytes=MAX_BYTES)
        if answer.data is not None:
            try:
                replies[question] = load_reply(b"".join(unpack(answer.data, 1)))
                self._keep(name, replies[question])
            except ProtocolError as error:
                self.played.reasons[name] = str(error)
        else:
            told = f"{answer.error.name}: {answer.error.value}" if answer.error is not None else ""
            self.played.reasons[name] = answer.reason or told or "the kernel gave no answer"
        if answer.status in (
            "timeout",
            "dead",
            "flooded",
        ):  # also where an interruption was enough and the kernel lives
            self.stopped[check.exercise] += 1
        if not self.session.alive:
            await self._revive(index)

    async def _revive(self, upto: int, *, counts: bool = True) -> None:
        """Replace the dead kernel and bring it to where the notebook stood, without the cells that kill kernels."""
        while True:
            await self._close()
            self.restarts += counts
            counts = True
            if self.restarts > RESTARTS:
                self.gone = f"not run: the kernel had died {self.restarts} times"
            elif time.monotonic() >= self.ends_s:
                self.gone = f"not run: the notebook had used its {self.limits.wall_notebook_s:g} seconds"
            if self.gone:
                self.played.notes.append(f"The run was given up: {self.gone.removeprefix('not run: ')}.")
                return
            self.session = await self._start()
            killer = await self._replay(upto)
            if killer is None:
                return
            self.deadly.add(killer)

    async def _replay(self, upto: int) -> int | None:
        assert self.session is not None
        for index, item in enumerate(self.items[: upto + 1]):
            if item.check is None and item.source.strip() and not item.skip and index not in self.deadly:
                await self.session.run_cell(item.source)
                if not self.session.alive:
                    return index
        return None
