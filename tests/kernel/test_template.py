"""The warm template: forks are apart, alike, cheap to lose, and a machine that cannot have one gets cold kernels."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from autograder.errors import SandboxError
from autograder.kernel import launch
from autograder.kernel.client import KernelSession
from autograder.probe.serve import READY
from autograder.sandbox import warm
from autograder.sandbox.end import End
from autograder.sandbox.escapes import escapes_of_a_fork
from autograder.sandbox.folder import RunFolder
from autograder.sandbox.keeper import keeper
from autograder.sandbox.policy import Limits
from autograder.sandbox.start import start_fork
from autograder.sandbox.warm import Template

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]
LIMITS = Limits(wall_cell_s=20, wall_notebook_s=60)


@pytest.fixture(scope="module")
def template() -> Iterator[Template]:
    """A template with torch, as kernels have it."""
    made = keeper().call(lambda: Template(launch.PRELOAD)).result()
    made.wait_until_ready(60)
    yield made
    made.close()


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that has not asked for a template yet; the one made meanwhile is closed."""
    monkeypatch.setattr(launch, "_template", None)
    monkeypatch.setattr(launch, "_refused", "")
    monkeypatch.setattr(launch, "_ending", False)  # another test may have ended this process' template
    yield
    if launch._template is not None:
        launch._template.close()


def run(template: Template, source: str, *arguments: str, limits: Limits = LIMITS) -> End:
    """Run a program in a fork and return how it ended."""
    given = {"connection": None, "source": source, "arguments": list(arguments), "files": {}}
    box = start_fork(template, RunFolder(within=template.folder), limits, given).result()
    return box.ended.result(timeout=60)


def test_no_attempt_leads_out(template):
    """The trial that the template must stand at each start."""
    assert escapes_of_a_fork(template) == []


def test_a_fork_has_what_was_imported_and_sees_only_its_own_folder(template):
    """torch is there at once; the folder of all run folders is empty, and nothing of the socket to the grader is left."""
    other = RunFolder(within=template.folder)
    source = (
        "import sys, os; print('torch' in sys.modules, os.listdir('/opt/boxes'), sorted(os.listdir('/proc/self/fd')))"
    )
    try:
        # Descriptor 3 is the listing's own.
        assert run(template, source).tail == "True [] ['0', '1', '2', '3']\n"
    finally:
        other.remove()


def test_what_the_templates_own_allocator_is_told_is_not_in_a_forks_environment(template):
    """It is for one process' start, and no student's code, nor a program that this starts, has to do with it."""
    assert warm.ALLOCATOR
    source = f"import os; print([name for name in {sorted(warm.ALLOCATOR)!r} if name in os.environ])"
    assert run(template, source).tail == "[]\n"


def test_what_is_shown_below_tmp_is_there_in_a_fork_and_cannot_be_written(monkeypatch, tmp_path):
    """A course, and with it its Python, may lie there, where each fork gets a new, empty folder."""
    tmp_path.chmod(0o755)
    (tmp_path / "a").write_text("shown")
    seen = warm.view()
    binds, links = (*seen.binds, (str(tmp_path), "/tmp/course/lib")), (*seen.links, ("lib/a", "/tmp/course/b"))
    monkeypatch.setattr(warm, "view", lambda: replace(seen, binds=binds, links=links))
    made = keeper().call(lambda: Template(["json"])).result()
    source = """
import os
print(open("/tmp/course/lib/a").read(), open("/tmp/course/b").read())
for place in ("/tmp/course/lib/x", "/tmp/course/x", "/tmp/x"):
    try:
        open(place, "w").close()
        print("wrote", place)
    except OSError as error:
        print("refused", place)
"""
    try:
        made.wait_until_ready(60)
        wanted = "shown shown\nrefused /tmp/course/lib/x\nrefused /tmp/course/x\nwrote /tmp/x\n"
        assert run(made, source).tail == wanted
    finally:
        made.close()


def test_forks_share_nothing_that_one_of_them_writes(template):
    """Neither memory nor /tmp, /dev/shm or the home."""
    source = """
import os, torch
print(hasattr(torch, "mine"), [os.path.exists(f"{place}/mine") for place in ("/tmp", "/dev/shm", "/tmp/home")])
torch.mine = True
for place in ("/tmp", "/dev/shm", "/tmp/home"):
    open(f"{place}/mine", "w").close()
"""
    for _ in range(2):
        assert run(template, source).tail == "False [False, False, False]\n"


@pytest.mark.parametrize(
    ("source", "cause", "code"),
    [
        ("raise SystemExit(3)", "exit", 3),
        ("import os; os._exit(0)", "exit", 0),
        ("import os; os.abort()", "signal", signal.SIGABRT),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal", signal.SIGKILL),
        ("import ctypes; ctypes.string_at(0)", "signal", signal.SIGSEGV),
    ],
)
def test_an_end_is_told_as_that_of_a_box_of_its_own(template, source, cause, code):
    """The kernel is process 2 of its world, so that signals do to it what they do elsewhere."""
    end = run(template, source)
    assert (end.cause, end.code) == (cause, code)


def test_process_1_has_given_up_everything_before_a_line_of_the_program_runs(template):
    """It fences itself off, beside process 2: no capabilities, the filter, the limits, and no signal that Python handles."""
    source = """
import os, signal
lines = dict(line.split(":", 1) for line in open("/proc/1/status"))
names = ("NoNewPrivs", "Seccomp", "CapPrm", "CapEff", "CapInh", "CapBnd", "CapAmb")
print([int(lines[name], 16) for name in names], os.getsid(0), os.getpgid(0), signal.getsignal(signal.SIGCHLD).name)
print(lines["Uid"] == next(line for line in open("/proc/self/status") if line.startswith("Uid"))[4:])
print(open("/proc/1/limits").read() == open("/proc/self/limits").read())
try:
    print(set(os.listdir("/proc/1/fd")) <= {"0", "1", "2"}, os.readlink("/proc/1/cwd"))
except PermissionError:  # where Landlock keeps process 2 out of it
    print("True /")
"""
    told = "[1, 2, 0, 0, 0, 0, 0] 1 1 SIG_DFL\nTrue\nTrue\nTrue /\n"
    assert [run(template, source).tail for _ in range(5)] == [told] * 5


def test_parallel_torch_does_not_hang_in_a_fork(template):
    """The template has one thread for life; a fork of a process whose OpenMP had run with two would wait for ever."""
    source = (
        "import torch; torch.set_num_threads(2); print((torch.ones(2000, 2000) @ torch.ones(2000, 2000)).sum().item())"
    )
    assert run(template, source).tail == "8000000000.0\n"


def test_an_optimizer_and_a_data_loader_work_in_a_fork(template):
    """With worker processes of its own."""
    source = """
import torch
from torch.utils.data import DataLoader, TensorDataset
weight = torch.ones(1, requires_grad=True)
optimizer = torch.optim.Adam([weight], lr=0.1)
for (batch,) in DataLoader(TensorDataset(torch.arange(4.0)), batch_size=2, num_workers=2):
    (weight * batch).sum().backward()
optimizer.step()
print(round(weight.item(), 3))
"""
    assert run(template, source, limits=Limits()).tail.splitlines()[-1] == "0.9"


def test_nothing_piles_up_over_many_forks(template):
    """Fifty later there are as many descriptors, run folders and processes of the template as before."""

    def held() -> tuple[int, int, int]:
        inside = os.listdir(f"/proc/{_inner(template)}/fd")
        return len(os.listdir("/proc/self/fd")), len(inside), len(os.listdir(template.folder.path))

    run(template, "pass")
    before = held()
    for _ in range(50):
        run(template, "pass")
    assert held() == before
    assert _children(_inner(template)) == []


def _children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def _inner(template: Template) -> int:
    """The template's Python, below bubblewrap's processes."""
    pid = template._process.pid
    while found := _children(pid):
        pid = found[-1]
    return pid


def drawn(seed: int) -> str:
    """What the three generators draw first in a kernel, and the salt of hashes."""

    async def talk() -> str:
        async with KernelSession(LIMITS) as session:
            await session.ask(READY, str(seed).encode(), wall_s=30, max_bytes=10**6)
            source = "import random, numpy, torch\nprint(random.random(), numpy.random.rand(), torch.rand(1).item(), hash('a'))"
            return str((await session.run_cell(source)).outputs[0]["text"])

    return asyncio.run(talk())


def test_a_kernel_draws_the_same_in_a_replay_warm_or_cold(fresh, monkeypatch):
    """And something else with another seed."""
    warm_one, again, other = drawn(5), drawn(5), drawn(6)
    assert warm_one == again != other
    monkeypatch.setenv(launch.VARIABLE, "cold")
    assert drawn(5) == warm_one


def test_when_the_template_dies_its_kernels_do_and_the_next_one_gets_another(fresh):
    """A kernel's death is a status, and the class goes on."""

    async def talk() -> tuple[str, str]:
        async with KernelSession(LIMITS) as session:
            first = launch.template()
            assert first is not None
            os.kill(first._process.pid, signal.SIGKILL)
            lost = await session.run_cell("import time; time.sleep(20)")
        async with KernelSession(LIMITS) as session:
            return lost.status, (await session.run_cell("print('here')")).outputs[0]["text"]

    assert asyncio.run(talk()) == ("dead", "here\n")


def test_a_template_that_was_begun_is_the_one_that_is_used(fresh):
    """The first kernel waits for it."""
    launch.begin()
    assert run(launch.template(), "print('here')").tail == "here\n"
    assert launch._candidate is launch.template()


@pytest.mark.parametrize("end", ["", "raise KeyboardInterrupt", "sys.exit(2)", "launch.end(); os._exit(0)"])
@pytest.mark.parametrize("made", [False, True], ids=["while it is made", "later"])
def test_a_process_that_ends_takes_its_template_along(end, made):
    """Also in the middle of making it: no process, no folder and no word is left."""
    source = f"""
import os, sys, time
from autograder.kernel import launch
launch.begin()
{"launch.template()" if made else ""}
while launch._candidate is None:
    time.sleep(0.01)
print(launch._candidate._process.pid, launch._candidate.folder.path, flush=True)
{end}
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=False)
    pid, folder = done.stdout.split()
    assert not os.path.exists(folder)
    assert not os.path.exists(f"/proc/{pid}")
    said = done.stderr.strip().splitlines()
    assert said == [] or (
        end.startswith("raise") and said[-1] == "KeyboardInterrupt" and "launch.py" not in done.stderr
    )


def test_what_one_kernel_asks_for_is_imported_for_all():
    """Others do not wait for it, and the later ones have it."""
    source = "import sys; print('wave' in sys.modules)"
    made = keeper().call(lambda: Template(["json"])).result()
    try:
        made.wait_until_ready(60)
        found = []
        for ahead in ([], ["wave"], []):
            given = {"connection": None, "source": source, "arguments": [], "files": {}, "ahead": ahead}
            box = start_fork(made, RunFolder(within=made.folder), LIMITS, given).result()
            found.append(box.ended.result(timeout=60).tail)
    finally:
        made.close()
    assert found == ["False\n", "True\n", "True\n"]


@pytest.mark.parametrize("fault", ["it cannot be started", "a trial leads out", "a package is not seen"])
def test_without_a_template_kernels_are_cold(fresh, fault, monkeypatch, caplog):
    """The reason is said once, and the kernels work."""
    if fault == "it cannot be started":
        monkeypatch.setattr(warm.bwrap, "template_options", lambda *a, **k: ["--ro-bind", "/no/such/folder", "/x"])
    elif fault == "a trial leads out":
        monkeypatch.setattr(launch, "escapes_of_a_fork", lambda _: ["saw /etc/shadow"])
    else:
        monkeypatch.setattr(launch, "NEEDED", ("no_such_package",))

    async def talk() -> tuple[str, int | None]:
        async with KernelSession(LIMITS) as session:
            text = (await session.run_cell("print('here')")).outputs[0]["text"]
            return str(text), session._box and session._box.process.pid

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(talk())[0] == "here\n"
        assert asyncio.run(talk())[0] == "here\n"
    assert launch.template() is None
    assert any(words in launch.why_cold() for words in ("/no/such/folder", "saw /etc/shadow", "no_such_package"))
    assert len(caplog.records) == 1


def test_a_template_that_says_nothing_is_given_up():
    """It is killed, and its folder goes."""
    made = keeper().call(lambda: Template(["time"])).result()
    with pytest.raises(SandboxError, match="did not start"):
        made.wait_until_ready(0.0)
    made.close()
    deadline = time.monotonic() + 5
    while made.alive and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not made.alive
    assert not made.folder.path.exists()
