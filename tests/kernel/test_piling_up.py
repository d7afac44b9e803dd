"""Nothing piles up over many kernels, and each is small: descriptors, dead processes, run folders, memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import psutil
import pytest

from autograder.errors import SandboxError
from autograder.kernel import launch
from autograder.kernel.client import KernelSession
from autograder.probe.serve import READY
from autograder.sandbox import warm
from autograder.sandbox.folder import RunFolder
from autograder.sandbox.keeper import keeper
from autograder.sandbox.policy import Limits
from autograder.sandbox.start import start_box, start_fork
from autograder.sandbox.warm import Template

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

LIMITS = Limits(wall_cell_s=20, wall_notebook_s=60)
KERNEL_MB = 60
CELL = """
import torch
layer = torch.nn.BatchNorm2d(16)
layer(torch.randn(32, 16, 8, 8, requires_grad=True)).square().sum().backward()
"""
GIVEN = {"connection": None, "source": "pass", "arguments": [], "files": {}}


@pytest.fixture
def own_template(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that has no template yet; the one made meanwhile is closed."""
    monkeypatch.setattr(launch, "_template", None)
    monkeypatch.setattr(launch, "_refused", "")
    monkeypatch.setattr(launch, "_ending", False)  # as it is again afterwards: this process goes on
    yield
    launch.end()


def held() -> dict[str, int]:
    """What this process has open, and what it has started: a lock that is still held on a run folder is one of the descriptors."""
    mine = psutil.Process()
    return {
        "descriptors": mine.num_fds(),
        "dead": sum(child.status() == psutil.STATUS_ZOMBIE for child in mine.children(recursive=True)),
        "processes": len(mine.children(recursive=True)),
        "threads": mine.num_threads(),
    }


def private_mb(pid: int) -> float:
    """The memory that a process and all below it share with no other."""
    return sum(process.memory_full_info().uss for process in below(pid)) / 2**20


def below(pid: int) -> list[psutil.Process]:
    """A process and all below it."""
    top = psutil.Process(pid)
    return [top, *top.children(recursive=True)]


async def play() -> float:
    """Use a kernel as grading does, and return how much memory it had for itself."""
    async with KernelSession(LIMITS) as session:
        await session.ask(READY, b"5", wall_s=30, max_bytes=10**6)
        assert (await session.run_cell(CELL)).status == "ok"
        return private_mb(session._box.process.pid)


def test_many_kernels_leave_nothing_and_each_is_small(own_template):
    """Thirty-two, four at a time; the last ones as small as the first."""

    async def four() -> list[float]:
        return list(await asyncio.gather(*(play() for _ in range(4))))

    async def talk() -> tuple[dict[str, int], dict[str, int], list[float]]:
        sizes = await four() + await four()
        before = held()
        for _ in range(6):
            sizes += await four()
        return before, held(), sizes

    before, after, sizes = asyncio.run(talk())
    assert launch._template is not None, launch.why_cold()
    assert after == before
    assert list(launch._template.folder.path.iterdir()) == []
    assert 0 < max(sizes) < KERNEL_MB


def test_cold_boxes_leave_nothing():
    """Nor do those that cannot be started."""

    folders: list[RunFolder] = []

    def some() -> None:
        for program in ("/bin/true", "/no/such/program") * 5:
            folders.append(RunFolder())
            start_box([program], folders[-1], LIMITS).result().ended.result(30)

    some()
    before = held()
    for _ in range(4):
        some()
    assert held() == before
    assert not any(folder.path.exists() for folder in folders)


@pytest.mark.parametrize("fault", ["no user", "no group"])
def test_forks_that_could_not_be_put_in_their_place_leave_nothing(fault, monkeypatch):
    """They end before they begin, the error is ours, and the template serves the next one."""

    def refuse(*_: object) -> None:
        raise SandboxError("refused by the test")

    class Full:
        admit = staticmethod(refuse)

        def remove(self) -> None:
            """There is nothing to remove."""

    made = keeper().call(lambda: Template(["json"])).result()
    try:
        made.wait_until_ready(60)
        start_fork(made, RunFolder(within=made.folder), LIMITS, GIVEN).result().ended.result(30)
        before = held()
        with monkeypatch.context() as patch:
            patch.setattr(warm, "give_user", refuse)
            patch.setattr("autograder.sandbox.start.throw_away_user", lambda: 60001)
            patch.setattr("autograder.sandbox.start.bwrap.is_root", lambda: fault == "no user")
            patch.setattr("autograder.sandbox.start.group_for", lambda _: Full() if fault == "no group" else None)
            patch.setattr("autograder.sandbox.start._give_away", lambda *_: None)
            for _ in range(5):
                with pytest.raises(SandboxError, match="refused by the test"):
                    start_fork(made, RunFolder(within=made.folder), LIMITS, GIVEN).result()
        end = start_fork(made, RunFolder(within=made.folder), LIMITS, GIVEN).result().ended.result(30)
        assert (end.cause, end.code) == ("exit", 0)
        deadline = time.monotonic() + 10
        while held() != before and time.monotonic() < deadline:
            time.sleep(0.05)  # a process that was refused still says why
        assert held() == before
        assert list(made.folder.path.iterdir()) == []
    finally:
        made.close()
