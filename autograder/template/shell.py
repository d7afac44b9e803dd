"""A notebook's kernel without its network: IPython's own, told what to run over one socket, its outputs sent back over the same.

Theory of operation. What a notebook's code can notice is ipykernel's and is not changed: the shell with its magics and display
hooks, the kernel's `do_execute`, an event loop that is running already. What is left out is what a grader has no use for: five
ZeroMQ sockets, their threads, a signature on each message, history, completion, a debugger. All of it up to the socket can be made
in a template, so that a fork begins with its first cell. One thread beside the main one reads the requests, so that an
interruption is heard while a cell runs, and looks after text that is printed.

Started as `python -m autograder.template.shell NUMBER` (of a connected socket's descriptor) or with `PORT:WORD` for a port of
127.0.0.1 to connect to, where the word says who it is; or called in a fork. Nothing here is trusted: it runs beside student code.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from types import SimpleNamespace
from typing import Any

from ipykernel import ipkernel
from ipykernel.compiler import XCachingCompiler, get_tmp_directory
from ipykernel.displayhook import ZMQDisplayHook
from ipykernel.ipkernel import IPythonKernel
from ipykernel.jsonutil import json_clean
from ipykernel.kernelapp import IPKernelApp
from ipykernel.zmqshell import ZMQInteractiveShell
from jupyter_client.session import Session
from tornado.ioloop import IOLoop

from autograder.template.link import Link
from autograder.template.plain import Plain
from autograder.template.streams import KEPT_BACK_S, Streams

ARGUMENTS = ("--HistoryManager.enabled=False", "--IPKernelApp.parent_handle=1")  # no SQLite file, no poll for a parent
REHEARSAL = (
    "1",
    "1 / 0",
    "import asyncio; await asyncio.sleep(0)",
    "%pwd",
    "print(1)",
    "import traceback; traceback.format_stack()",  # reads the sources on the way here, as torch does when it is given a seed
    "get_ipython().display_formatter.format(1); get_ipython().logger",  # made when first asked for
)
REPLY = ("status", "ename", "evalue", "traceback")


class LinkSession(Session):
    """Where ipykernel sends its messages: to a link, once there is one."""

    link: Link | None = None

    def send(self, stream: Any, msg_or_type: Any, content: Any = None, parent: Any = None, **_: Any) -> Any:  # type: ignore[override]
        """Send what shows something, as a frame; the rest of the protocol has nobody to hear it."""
        if isinstance(msg_or_type, dict):
            message = msg_or_type
        else:
            message = {"header": {"msg_type": msg_or_type}, "parent_header": parent or {}, "content": content or {}}
        if self.link is not None:
            header = message["parent_header"]
            told = header.get("header", header).get("msg_id", "")  # a whole message may stand for its header
            self.link.send(message["header"]["msg_type"], message["content"], told)
        return message


class Compiler(XCachingCompiler):
    """ipykernel's, with a name for each cell's file that is not worked out in Python, byte by byte."""

    def get_code_name(self, raw_code: str, code: str, number: int) -> str:
        """Return the path that stands in tracebacks; there is no such file."""
        name = hashlib.blake2b(raw_code.encode("utf-8", "replace"), digest_size=4).hexdigest()
        return os.path.join(get_tmp_directory(), f"{int(name, 16)}.py")  # type: ignore[no-untyped-call]


class NotebookApp(IPKernelApp):
    """ipykernel's application without its sockets."""

    session: LinkSession

    def _session_default(self) -> LinkSession:
        return LinkSession(parent=self)

    def init_connection_file(self) -> None:
        """There is none."""

    def init_poller(self) -> None:
        """Nobody to look for: the box ends with the grader."""

    def init_sockets(self) -> None:
        """Nor these."""

    def init_heartbeat(self) -> None:
        """Nor a heartbeat: the socket closes."""

    def write_connection_file(self, **kwargs: Any) -> None:
        """There is none."""

    def log_connection_info(self) -> None:
        """Nor anything to tell of it."""

    def init_io(self) -> None:
        """Only the display hook; the streams come with the link."""
        self.displayhook = sys.displayhook = ZMQDisplayHook(self.session, None)  # type: ignore[no-untyped-call]
        self.patch_io()  # type: ignore[no-untyped-call]

    def init_kernel(self) -> None:
        """Make the kernel, and its shell with it."""
        self.kernel = IPythonKernel.instance(
            parent=self,
            session=self.session,
            log=self.log,
            profile_dir=self.profile_dir,
            user_ns=self.user_ns,
            compiler_class=Compiler,
        )
        shell: Any = self.kernel.shell
        Plain(shell)
        if hasattr(ipkernel, "_accepts_parameters"):  # asked for each cell, of the same function
            ipkernel._accepts_parameters = _once(ipkernel._accepts_parameters)
        shell.ask_exit = lambda: None  # `exit()` in a cell ends no notebook
        # All that is asked of it.
        self.kernel.shell_channel_thread = SimpleNamespace(parent_thread=threading.main_thread())
        self.displayhook.get_execution_count = lambda: self.kernel.execution_count


def _once(accepts: Callable[..., Any]) -> Callable[..., Any]:
    found = cache(lambda method, names: accepts(method, list(names)))
    return lambda method, names: found(method, tuple(names))


@cache
def make() -> NotebookApp:
    """Make the kernel of this process, or return it; in a template before it forks, which spares each fork the work."""
    sys.modules.setdefault("debugpy", None)  # type: ignore[arg-type]  # nobody debugs here: fewer threads and sockets
    app = NotebookApp.instance()
    app.initialize(list(ARGUMENTS))  # type: ignore[no-untyped-call]
    return app


def unmake() -> None:
    """Forget the kernel of this process, where an ordinary one is to take its place."""
    for kind in (NotebookApp, IPythonKernel, ZMQInteractiveShell):
        kind.clear_instance()
    make.cache_clear()


def rehearse() -> None:
    """Run a few cells that leave nothing behind, for the sake of what IPython imports only then."""
    app = make()
    shell = app.kernel.shell
    kept = dict(shell.user_ns), sys.stdout, sys.stderr

    async def all_of_them() -> None:
        app.kernel.io_loop = IOLoop.current()
        for source in REHEARSAL:
            await app.kernel.do_execute(source, silent=True, store_history=False)

    with open(os.devnull, "w") as sys.stdout:
        sys.stderr = sys.stdout
        asyncio.run(all_of_them())
    shell.user_ns.clear()
    shell.user_ns.update(kept[0])
    sys.stdout, sys.stderr = kept[1:]
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        if hasattr(sys, name):
            delattr(sys, name)
    shell._last_traceback = None
    shell.last_execution_result = None
    shell.last_execution_succeeded = True


def serve(connected: socket.socket) -> None:
    """Answer requests until the grader hangs up."""
    sys.argv = ["ipykernel_launcher", "-f", "/tmp/kernel.json"]  # what a notebook expects there
    with suppress(BrokenPipeError, ConnectionResetError):
        _Server(make(), connected).run()


class _Server:
    def __init__(self, app: NotebookApp, connected: socket.socket) -> None:
        self.kernel: Any = app.kernel
        self.link = app.session.link = Link(connected)
        self.streams = Streams(self.link)
        self.kernel._stdout, self.kernel._stderr = self.streams.both
        self.busy = False  # from when a request comes in
        self.running = ""  # the request that may be interrupted
        self.main = threading.main_thread()
        self.loop = asyncio.new_event_loop()
        self.requests: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    def run(self) -> None:
        signal.signal(signal.SIGINT, self._interrupted)
        asyncio.set_event_loop(self.loop)
        threading.Thread(target=self._listen, name="grader", daemon=True).start()
        self.loop.run_until_complete(self._answer())

    async def _answer(self) -> None:
        self.kernel.io_loop = IOLoop.current()
        self.link.send("hello", {})
        while (request := await self.requests.get()) is not None:
            content = await self._done(request)
            self.busy = False
            self.streams.flush()
            self.link.send("reply", content, request["id"])

    async def _done(self, request: dict[str, Any]) -> dict[str, Any]:
        self.link.parent = request["id"]
        header = {"msg_id": request["id"], "msg_type": "execute_request"}
        self.kernel.set_parent([], {"header": header, "content": {"code": request.get("code", "")}, "metadata": {}})
        signal.signal(signal.SIGINT, self._interrupted)  # whatever the cell before has put there
        try:
            self.running = request["id"]
            if request["kind"] == "ask":
                reply = self._answer_to(request["function"], request["data"])
            else:
                reply = await self.kernel.do_execute(request["code"], silent=False, store_history=True)
            self.running = ""
        except BaseException as error:  # an interruption between two steps of IPython's own, or an answer that failed
            self.running = ""
            reply = {"ename": type(error).__name__}
            with suppress(BaseException):  # its words may be a student's code
                reply["evalue"] = str(error)
        return dict(json_clean({name: reply.get(name) for name in REPLY}))  # type: ignore[no-untyped-call]

    def _answer_to(self, function: str, given: bytes) -> dict[str, Any]:
        """Call a function of the grader's, by `module:name`, with bytes and the notebook's names; what it returns is sent."""
        module, name = function.split(":")
        shell = self.kernel.shell
        answer = getattr(importlib.import_module(module), name)(given, shell.user_ns)
        shell.events.trigger("post_execute")  # figures that were made meanwhile are nobody's
        if answer is not None:
            self.link.send("answer", {}, data=answer)
        return {"status": "ok"}

    def _interrupted(self, *_: object) -> None:
        if self.running:
            self.link.interrupt()

    def _listen(self) -> None:
        """Hand over requests, interrupt what runs, look after the streams: a thread's whole life."""
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they are the main thread's
        watched: list[Any] = [self.link.socket, *self.streams.pipes]
        with suppress(OSError, ValueError, RuntimeError):
            while True:
                ready = select.select(watched, [], [], KEPT_BACK_S if self.busy else None)[0]
                self.streams.show()
                if len(ready) > (self.link.socket in ready):
                    self.streams.drain()
                if self.link.socket in ready:
                    message = self.link.receive()
                    if message is None:
                        break
                    if message["kind"] != "interrupt":
                        self.busy = True
                        self.loop.call_soon_threadsafe(self.requests.put_nowait, message)
                    elif message["id"] == self.running:
                        self._interrupt()
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.requests.put_nowait, None)

    def _interrupt(self) -> None:
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(int(self.main.ident or 0), signal.SIGINT)  # which also ends a wait
        else:
            import _thread

            _thread.interrupt_main()


def connect(where: str) -> socket.socket:
    """Return the socket that the command line names."""
    if ":" not in where:
        return socket.socket(fileno=int(where))
    port, word = where.split(":")
    connected = socket.create_connection(("127.0.0.1", int(port)))
    connected.sendall(bytes.fromhex(word))
    return connected


if __name__ == "__main__":
    # Under its own name: what is imported as `__main__` is the notebook's from now on.
    from autograder.template import shell

    shell.serve(shell.connect(sys.argv.pop(1)))
    os._exit(0)
