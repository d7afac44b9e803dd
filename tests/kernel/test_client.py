"""A kernel session runs cells, answers questions, keeps apart from others, and leaves nothing behind."""

import asyncio
import os
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from autograder.errors import SandboxError, SandboxUnavailable
from autograder.kernel.client import KernelSession
from autograder.sandbox import bwrap
from autograder.sandbox.policy import Limits

pytestmark = pytest.mark.sandbox
LIMITS = Limits(wall_cell_s=30, wall_notebook_s=120)
ANSWER = "answer = lambda data: IPKernelApp.instance().session.link.send('answer', {}, data=data)\n"


def cells(*sources, limits=LIMITS, sandboxed=True):
    """Run the sources in one new kernel."""

    async def run():
        async with KernelSession(limits, sandboxed=sandboxed) as session:
            return [await session.run_cell(source) for source in sources]

    return asyncio.run(run())


def question(source, wall_s=20, max_bytes=1000):
    """Have a new kernel run code of ours, in which `answer(bytes)` is what a function would return."""
    source = "from ipykernel.kernelapp import IPKernelApp\n" + ANSWER + source

    async def run():
        async with KernelSession(LIMITS) as session:
            answer = await session.ask("builtins:exec", source.encode(), wall_s=wall_s, max_bytes=max_bytes)
            return answer, session.alive

    return asyncio.run(run())


def test_a_cell_gives_its_outputs_in_notebook_form():
    """Printed text, a result and an error; names live from cell to cell."""
    first, second, third = cells("x = 4\nprint('a')\nprint('b')", "x + 1", "print('c')\n1 / 0")
    assert first.outputs == ({"output_type": "stream", "name": "stdout", "text": "a\nb\n"},)
    assert second.outputs[0]["data"] == {"text/plain": "5"}
    assert second.outputs[0]["execution_count"] == 2
    assert [output["output_type"] for output in third.outputs] == ["stream", "error"]
    assert (third.status, third.error.name, third.error.value) == ("error", "ZeroDivisionError", "division by zero")
    assert "\x1b" not in third.error.traceback
    assert first.status == second.status == "ok"
    assert first.reason == third.reason == ""


def test_a_lab_finds_its_packages_and_data():
    """All that a lab imports, sklearn's digits, a figure, worker processes, and its pieces of this package."""
    runs = cells(
        "import torch, numpy, scipy, einops, matplotlib.pyplot as plt\nfrom sklearn.datasets import load_digits",
        "load_digits().data.shape",
        "plt.plot([1, 2]); plt.show()",
        "from torch.utils.data import DataLoader\nlen(list(DataLoader(torch.arange(8), batch_size=2, num_workers=2)))",
        "import autograder.probe, autograder.student, pkgutil\n"
        "{module.name for module in pkgutil.iter_modules(autograder.__path__)}"
        " & {'authoring', 'cli', 'grading', 'kernel', 'plugins', 'sandbox'}",
        "(torch.get_num_threads(), hash('a') == hash('a'), __import__('os').environ['PYTHONHASHSEED'])",
    )
    assert [run.status for run in runs] == ["ok"] * 6, runs
    assert runs[1].outputs[0]["data"]["text/plain"] == "(1797, 64)"
    assert "image/png" in runs[2].outputs[0]["data"]
    assert runs[3].outputs[0]["data"]["text/plain"] == "4"
    assert runs[4].outputs[0]["data"]["text/plain"] == "set()"
    assert runs[5].outputs[0]["data"]["text/plain"] == "(1, True, '0')"


def test_the_home_is_empty_and_writable():
    """The working folder is the home; the folder of the tests is not there."""
    source = "import os\nprint(os.getcwd() == os.environ['HOME'], [n for n in os.listdir() if n[0] != '.'])"
    run, write = cells(source, "open('mine', 'w').write('x')")
    assert run.outputs[0]["text"] == "True []\n"
    assert write.status == "ok"


def test_an_answer_is_what_a_function_returns():
    """It gets the text and the notebook's names."""

    async def run():
        async with KernelSession(LIMITS) as session:
            await session.run_cell("x = 4")
            for function in ("math:sqrt", "builtins:eval", "no_such_module:f"):
                yield await session.ask(function, b"str(x).encode()", wall_s=20, max_bytes=1000)

    async def all_of_them():
        return [answer async for answer in run()]

    fails, works, lacks = asyncio.run(all_of_them())
    assert (fails.status, fails.data, fails.error.name) == ("error", None, "TypeError")
    assert (works.status, works.data, works.error) == ("ok", b"4", None)
    assert (lacks.status, lacks.error.name) == ("error", "ModuleNotFoundError")


def test_the_first_answer_counts():
    """Printed text does not matter."""
    answer, alive = question("print('noise')\nanswer(b'one')\nanswer(b'two')")
    assert (answer.status, answer.data, answer.error, answer.reason, alive) == ("ok", b"one", None, "", True)


@pytest.mark.parametrize(
    ("source", "status", "words"),
    [
        ("answer(b'x' * 1001)", "flooded", "larger than 1000 bytes"),
        ("1", "error", "no answer"),
        ("import os; os._exit(1)", "dead", "exit code 1"),
        ("while True: pass", "timeout", "more than 1 s"),
    ],
    ids=["large", "none", "dead", "endless"],
)
def test_a_bad_answer_has_a_reason(source, status, words):
    """And never data."""
    answer, _ = question(source, wall_s=1 if "while" in source else 20)
    assert (answer.status, answer.data) == (status, None)
    assert words in answer.reason


def test_an_error_while_answering_is_given():
    """The exception of our own code in the kernel."""
    answer, alive = question("raise KeyError('x')")
    assert (answer.status, answer.error.name, alive) == ("error", "KeyError", True)


def test_an_error_that_cannot_be_worded_ends_no_kernel():
    """Its words are code, too."""
    answer, alive = question("class E(BaseException):\n    def __str__(self):\n        raise self\nraise E")
    assert (answer.status, answer.error.name, answer.error.value, alive) == ("error", "E", "", True)


def test_an_answer_that_no_message_can_carry_is_refused_before_asking():
    """A caller's mistake, hence an exception."""
    with pytest.raises(ValueError, match="64 MB"):
        question("1", max_bytes=64 * 2**20)


@pytest.mark.parametrize("rung", ["warm", "cold"])
def test_several_sessions_share_one_loop(rung, monkeypatch):
    """Four kernels at once, each with its own names and, built by root, a throw-away user of its own."""
    monkeypatch.setenv("AUTOGRADER_KERNELS", rung)

    async def one(number):
        async with KernelSession(LIMITS) as session:
            await session.run_cell(f"x = {number}")
            run = await session.run_cell("import os, time\ntime.sleep(0.3)\nprint(x, os.getuid())")
            return run.outputs[0]["text"].split(), session._box.user_id

    async def all_of_them():
        return await asyncio.gather(*(one(number) for number in range(4)))

    results = asyncio.run(all_of_them())
    assert [words[0] for words, _ in results] == ["0", "1", "2", "3"]
    if os.geteuid() == 0:
        assert len({words[1] for words, _ in results}) == 4
        assert all(int(words[1]) == user for words, user in results)


def _in_a_worker(number):
    return cells(f"print({number})")[0].outputs[0]["text"]


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_worker_processes_have_boxes_of_their_own(method):
    """Also a worker that was forked after this process had boxes."""
    assert cells("1")[0].status == "ok"
    with ProcessPoolExecutor(2, mp_context=get_context(method)) as pool:
        assert list(pool.map(_in_a_worker, range(2))) == ["0\n", "1\n"]


def test_nothing_is_left_after_an_exception():
    """No process."""
    kept = []

    async def run():
        async with KernelSession(LIMITS) as session:
            kept.append(session._box)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        asyncio.run(run())
    assert not kept[0].alive


@pytest.mark.parametrize("rung", ["warm", "cold"])
@pytest.mark.parametrize("after_s", [0.0, 0.02, 0.1, 0.2, 0.4, 1.5])
def test_nothing_is_left_after_a_cancellation(after_s, rung, monkeypatch):
    """Cancelled while it starts, connects or runs."""
    monkeypatch.setenv("AUTOGRADER_KERNELS", rung)
    kept = []

    async def run():
        session = KernelSession(LIMITS)
        try:
            async with session:
                await session.run_cell("while True: pass")
        finally:
            kept.append(session._box)

    async def cancel():
        task = asyncio.create_task(run())
        await asyncio.sleep(after_s)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    deadline = time.monotonic() + 10
    while any(box is not None and box.alive for box in kept) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(box is not None and box.alive for box in kept)


def test_descriptors_and_threads_do_not_pile_up():
    """Ten sessions later there are as many as after the first."""
    cells("1")
    before = len(os.listdir("/proc/self/fd")), threading.active_count()
    for _ in range(5):
        cells("1")
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == before


def test_a_kernel_that_cannot_start_is_an_error_of_ours():
    """With its last words, since a person must find the cause."""
    with pytest.raises(SandboxError, match=r"ended while it started.*autograder doctor"):
        cells("1", limits=Limits(file_mb=1, open_files=4))


def test_a_box_that_cannot_be_built_is_an_error_of_ours(monkeypatch):
    """bubblewrap's words are in the message; a mount that the machine forbids means that there is no sandbox."""
    monkeypatch.setenv("AUTOGRADER_KERNELS", "cold")
    monkeypatch.setattr(bwrap, "options", lambda *a, **k: ["--ro-bind", "/no/such/folder", "/x"])
    with pytest.raises(SandboxError, match=r"no/such/folder.*autograder doctor"):
        cells("1")


def test_a_kernel_that_takes_too_long_to_start_is_an_error_of_ours(monkeypatch):
    """Whatever the reason, it never becomes a student's zero."""
    monkeypatch.setenv("AUTOGRADER_KERNELS", "cold")  # a warm one may be there by then
    with pytest.raises(SandboxError, match="did not answer within"):
        cells("1", limits=Limits(start_s=0.01))


def test_without_bubblewrap_it_refuses(monkeypatch):
    """And says what to install."""
    monkeypatch.setenv("AUTOGRADER_KERNELS", "cold")
    monkeypatch.setattr(bwrap.shutil, "which", lambda name, path: None)
    with pytest.raises(SandboxUnavailable, match="apt install bubblewrap"):
        cells("1")


def test_without_a_sandbox_the_same_session_works():
    """A plain process of this user: it sees the machine, is watched and ended all the same."""
    run, loop, death = cells(
        f"import os; print(os.path.exists({__file__!r}), os.getuid() == {os.getuid()})",
        "while True: pass",
        "import os; os._exit(2)",
        limits=Limits(wall_cell_s=2, wall_notebook_s=60),
        sandboxed=False,
    )
    assert run.outputs[0]["text"] == "True True\n"
    assert (loop.status, loop.error.name) == ("timeout", "KeyboardInterrupt")
    assert (death.status, "exit code 2" in death.reason) == ("dead", True)


def test_without_a_sandbox_memory_is_watched_too():
    """The whole tree."""
    source = "import os, time\nos.fork()\nblock = b'x' * (300 * 2**20)\ntime.sleep(30)"
    (run,) = cells(source, limits=Limits(memory_mb=400, wall_notebook_s=60), sandboxed=False)
    assert (run.status, "more than 400 MB" in run.reason) == ("dead", True)


def test_a_session_may_run_in_a_thread():
    """And its kernel outlives no thread that started it, since the keeper did."""
    results = []
    thread = threading.Thread(target=lambda: results.append(cells("print(1)")[0].status))
    thread.start()
    thread.join(60)
    assert results == ["ok"]
