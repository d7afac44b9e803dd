"""A notebook notices no difference between the grader's kernel and Jupyter's own: the same cells show the same."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from autograder.kernel.client import KernelSession
from autograder.sandbox.policy import Limits

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

NOTEBOOKS = {
    "printing": (
        "print('a'); print('b', end=''); print('é 漢', flush=True)",
        "import sys\nprint('out'); print('err', file=sys.stderr); print('out again')",
        "sys.stdout.write('x\\n')",
        "print(*(f'\\r{i}' for i in range(3)))\nprint(sys.stdout.encoding, sys.stdout.isatty(), sys.stdout.closed)",
        "sys.stdout.writelines(['a\\n', 'b\\n'])",
        "try:\n    sys.stdout.write(b'x')\nexcept TypeError as error:\n    print('refused')",
        "print('x' * 100_000)",
        "import logging, warnings\nlogging.warning('logged')\nwarnings.warn('beware')",
        "import threading\nt = threading.Thread(target=print, args=('from a thread',)); t.start(); t.join()",
    ),
    "results": (
        "1 + 1",
        "_ + 1",
        "None",
        "'text';",
        "[1, {'a': (2, 3)}]",
        "Out[1], In[1], _i",
        "class A:\n    def _repr_html_(self):\n        return '<p>'\n    def __repr__(self):\n        return 'an A'\nA()",
        "class B:\n    def __repr__(self):\n        raise ValueError('no repr')\nB()",
        "import torch\ntorch.arange(3.)",
        "%who_ls",
        "%reset -f",
        "%who_ls",
    ),
    "displays": (
        "from IPython.display import display, HTML, Markdown, JSON, clear_output, update_display\ndisplay(1, 'two')",
        "display(HTML('<b>x</b>'), Markdown('# y'), JSON({'a': 1}))",
        "h = display('first', display_id='one')",
        "update_display('second', display_id='one')",
        "display('a', display_id='two'); update_display('b', display_id='two')",
        "print('gone'); clear_output(); print('kept')",
        "print('gone later'); clear_output(wait=True); print('kept')",
        "display({'text/plain': 'raw', 'text/html': '<i>'}, raw=True, metadata={'a': 1})",
        "import builtins\nbuiltins.display is display",
    ),
    "errors": (
        "def f(x):\n    return g(x)\ndef g(x):\n    return 1 / x",
        "print('before')\nf(0)\nprint('after')",
        "def f(:\n    pass",
        "if True:\nprint(1)",
        "raise KeyboardInterrupt",
        "import sys\nsys.exit(3)",
        "raise SystemExit('words')",
        "class Own(Exception):\n    pass\nraise Own('é', 5)",
        "try:\n    {}['a']\nexcept KeyError as error:\n    raise ValueError('from') from error",
        "raise ExceptionGroup('two', [ValueError(1), TypeError(2)])",
        "nothing",
        "assert 1 == 2, 'no'",
        "exit()",
        "quit",
        "print('still there')",
    ),
    "magics": (
        "%pwd",
        "a = !echo from the shell\na",
        "!echo shown; echo and this >&2",
        "%%bash\necho in bash",
        "%%capture kept\nprint('captured')",
        "kept.stdout",
        "%%writefile made.txt\ntext",
        "open('made.txt').read()",
        "%no_such_magic",
        "%matplotlib inline",
        "get_ipython().run_cell('print(1); 5')",
        "get_ipython().__class__, 'IPKernelApp' in get_ipython().config",
        "len?",
        "help(divmod)",
        "%env HOME",
    ),
    "unusual": (
        "x = 1\nx is 1",
        "x is 1\n%pwd",
        "'\\d'; x",
        "x = 5 % 3 # is it?\nx != 2",
        "\n\n  y = 2\n  y",
        ">>> y\n",
        "if True:\n        y\n    y",
        "y = 'a\x0cb'\ny",
        "%autoawait off",
        "await y",
        "%autoawait on",
        "assert (y, 'always')",
        "_, __, In[-1], sorted(Out)",
    ),
    "input": (
        "input('name? ')",
        "import getpass\ngetpass.getpass()",
        "import argparse, sys\nlen(sys.argv) > 1, sys.argv[1]",
        "import pdb\npdb.set_trace()",
        "print('still there')",
    ),
    "async": (
        "import asyncio\nawait asyncio.sleep(0)\nprint('awaited')",
        "await asyncio.sleep(0, 'result')",
        "asyncio.get_running_loop().is_running()",
        "c = asyncio.sleep(0)\ntry:\n    asyncio.run(c)\nfinally:\n    c.close()",
        "async def later():\n    await asyncio.sleep(0.01)\n    return 7\ntask = asyncio.create_task(later())",
        "await task",
        "async with asyncio.timeout(0.01):\n    await asyncio.sleep(5)",
        "async def fails():\n    raise ValueError('in a coroutine')\nawait fails()",
        "async for x in nothing():\n    pass",
    ),
    "processes": (
        "import os, subprocess, sys\nos.system('echo from a program; echo and its errors >&2')",
        "subprocess.run(['echo', 'x']).returncode",
        "subprocess.run([sys.executable, '-c', 'print(1 / 0)']).returncode",
        "import multiprocessing\np = multiprocessing.Process(target=print, args=('from a child',)); p.start(); p.join()",
        "os.write(1, 'é bytes\\n'.encode())",
        "os.write(1, b'\\xff\\n')",
        "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.puts(b'from C'); libc.fflush(None);",
    ),
    "figures": (
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])",
        "plt.figure(figsize=(1, 1)); plt.plot([3, 1]); plt.show(); print('after')",
        "fig, ax = plt.subplots(figsize=(1, 1))\nfig",
        "%config InlineBackend.figure_format = 'svg'\nplt.figure(figsize=(1, 1)); plt.close('all')",
        "plt.get_backend()",
    ),
}

# A thread of ipykernel's reads what was written past Python (os.write, a child process). What it has not read when a
# cell ends is shown under the next cell or nowhere; so after each cell that thread gets its time. No name is left.
WAIT = "get_ipython().events.register('post_run_cell', lambda *_: __import__('time').sleep(0.2))"


def jupyters(sources: tuple[str, ...]) -> list[list[dict[str, Any]]]:
    """What the cells show in ipykernel, through Jupyter's own client."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    client = NotebookClient(notebook, kernel_name="normalization-box", allow_errors=True, timeout=60)
    if sources is NOTEBOOKS["processes"]:
        client.on_notebook_start = lambda **_: client.kc.execute(WAIT, silent=True)  # type: ignore[union-attr]
    client.execute()
    return [plain(cell.outputs) for cell in notebook.cells]


def ours(sources: tuple[str, ...]) -> list[list[dict[str, Any]]]:
    """And in the grader's kernel."""

    async def talk() -> list[list[dict[str, Any]]]:
        async with KernelSession(Limits(wall_cell_s=60)) as session:
            runs = [await session.run_cell(source) for source in sources]
            return [
                plain(run.outputs) for run in runs
            ]  # at the end: a cell may update what one before it has displayed

    return asyncio.run(talk())


def plain(outputs: Any) -> list[dict[str, Any]]:
    """Outputs without what differs from run to run: numbers in names, ids of objects, how text was cut into pieces.

    What a child process writes may come a moment earlier or later than what this one does, so text is gathered by its stream.
    """
    found: list[dict[str, Any]] = []
    streams: dict[str, str] = {}
    for output in outputs:
        if output["output_type"] == "stream":
            streams[output["name"]] = streams.get(output["name"], "") + output["text"]
            continue
        one = dict(output)
        one.pop("metadata", None)
        if "data" in one:
            one["data"] = {
                mime: same(str(text)) for mime, text in dict(one["data"]).items() if mime != "application/json"
            }
        if "evalue" in one:
            one["evalue"] = same(one["evalue"])
        if "traceback" in one:
            one["traceback"] = [same(line) for line in one["traceback"]]
        found.append(one)
    return [*found, {name: same(text) for name, text in sorted(streams.items())}]


def same(text: str) -> str:
    """Text without the names of cells' files and addresses of objects."""
    text = re.sub(r"/tmp/ipykernel_\d+/\d+\.py", "CELL", text)
    text = re.sub(r"In\[\d+\]|line \d+", "N", text)
    return re.sub(r"0x[0-9a-f]+|\bat [0-9a-f]{8,}|\d{5,}", "N", text)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_same_cells_show_the_same(name: str, rung: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Printed text, results, displays, tracebacks, magics, tasks, child processes, figures."""
    monkeypatch.setenv("AUTOGRADER_KERNELS", rung)
    sources = NOTEBOOKS[name]
    for source, expected, got in zip(sources, jupyters(sources), ours(sources), strict=True):
        assert got == expected, source


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (
            "import os\nif os.fork() == 0:\n    print('from a fork', flush=True)\n    os._exit(0)\nos.wait();",
            "from a fork\n",
        ),
        ("import sys\nprint('before'); sys.stdout.close()\nprint('after')", "before\n"),
        ("import os\nos.write(1, b'\\xc3'); os.write(1, b'\\xa9\\n');", "é\n"),
        ("print('a', end=''); print('b', end='')\nimport os, time; time.sleep(0.3); os._exit(0)", "ab"),
        (
            "import threading, time\nprint('x')\nthreading.Thread(target=lambda: [time.sleep(0.05), print('y')]).start()",
            "x\n",
        ),
        (
            "import socket\ns = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname())\n1;",
            "",
        ),
    ],
    ids=["forked", "closed", "half a letter", "before an end", "after its cell", "loopback"],
)
def test_what_is_printed_is_shown(source: str, shown: str, rung: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is due: what a thread prints after its cell belongs to no cell."""
    monkeypatch.setenv("AUTOGRADER_KERNELS", rung)
    first, _ = ours((source, "import time; time.sleep(0.2)"))
    assert first[-1].get("stdout", "") == shown


@pytest.mark.parametrize("source", ["while True: print('x' * 100)", "import os\nwhile True: os.write(1, b'x' * 100)"])
def test_an_interruption_while_it_prints_tears_nothing(source: str) -> None:
    """The kernel lives, and the next cells are answered."""

    async def talk() -> list[tuple[str, str]]:
        limits = Limits(wall_cell_s=60, output_mb=60)
        async with KernelSession(limits) as session:
            found = []
            for wall_s in (0.05, 0.1, 0.15, 0.2):
                stopped = await session.run_cell(source, wall_s=wall_s)
                after = await session.run_cell("print(1)")
                found.append((stopped.status, str(after.outputs[-1:])))
            return found

    assert {status for status, _ in asyncio.run(talk())} <= {"timeout", "flooded"}
    assert all("1\\n" in text for _, text in asyncio.run(talk()))
