"""The template: one process with everything imported, which forks a fenced-off kernel for each request it is sent.

Started as `python -m autograder.template.process SOCKET PROGRAM MODULE[:FUNCTION]...` in a box: the numbers of two file descriptors
(a socket, and the compiled filter of system calls), and what to import, and call. Each message on the socket is one request, a JSON
object with descriptors: standard error, a file with what to run, and, for a notebook's kernel (`autograder.template.shell`), its
socket. The answer is the first process of a new world, which waits until the grader has put it where it belongs, and once more when
that has gone on, each time by the process id it sees and a pidfd; later comes how it ended.

The template has one thread for life, since a fork copies no other; it holds no secret, since every fork has a copy of its memory;
and it runs no code of a student's: that happens in the fork, behind the fence.
"""

from __future__ import annotations

import array
import ctypes
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from autograder.template.nest import Fence, Program, enter, landlock_version, new_world, next_process, settle, stand_by
from autograder.template.pages import gather

PR_SET_CHILD_SUBREAPER = 36
LARGEST_REQUEST = 65536
LINK_AT, LINK = 2, 3  # where the socket of a kernel is in a request, and which descriptor it becomes
LEISURE_S, IDLE_S = 0.2, 3.0  # when nobody has asked for anything for so long, there is time for something else
BUSY_AFTER = 8  # requests; whoever asks so often will go on, and pages are gathered between two of them
CONNECTION_FILE = "/tmp/kernel.json"
KERNEL = "import ipykernel.kernelapp as k; app = k.IPKernelApp.instance(); app.initialize({words!r}); app.start()"


def main(link_number: int, program_number: int, preload: list[str]) -> None:
    """Warm up, say so, and serve until the other end is closed."""
    link = socket.socket(fileno=link_number)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # the end of every fork is told to this process
    with os.fdopen(program_number, "rb") as file:
        program = Program(file.read())
    _warm_up(preload)
    ended, rung = os.pipe()
    os.set_blocking(rung, False)
    signal.set_wakeup_fd(rung, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        sys.exit(f"The template has {threads} threads after warming up; a fork would copy one of them and hang.")
    link.send(json.dumps({"ready": True, "landlock": landlock_version()}).encode())
    leisure = [(LEISURE_S, gather), (IDLE_S, _train_once)]
    served = 0
    while True:
        watched: list[Any] = [link, ended]
        waiting = select.select(watched, [], [], leisure[0][0] if leisure else None)[0]
        if leisure and (not waiting or (served > BUSY_AFTER and leisure[0][1] is gather)):
            leisure.pop(0)[1]()
        if ended in waiting:
            os.read(ended, 4096)
            _report_ends(link)
        if link in waiting:
            served += 1
            if not _serve(link, program):
                return


def _warm_up(modules: list[str]) -> None:
    """Import what every notebook imports."""
    gc.disable()  # next to nothing of what an import makes is garbage, and looking for it takes a tenth of the time
    # torch would look through all installed packages for plug-ins of accelerators, which a box does not show.
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    os.environ.pop("GLIBC_TUNABLES", None)  # the C library has read it by now
    sys.modules["debugpy"] = None  # type: ignore[assignment]  # as in every kernel
    for words in modules:
        name, _, call = words.partition(":")
        module = importlib.import_module(name)
        if call:
            getattr(module, call)()
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    del os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"]
    gc.enable()
    gc.freeze()  # a fork that collects garbage would otherwise copy every page


def _train_once() -> None:
    """Two steps of training: torch imports half of itself, which takes a second, when the first optimizer is made.

    Only some notebooks need it.
    """
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return
    weight = torch.ones(2, requires_grad=True)
    for make in (torch.optim.SGD, torch.optim.Adam):
        optimizer = make([weight], lr=0.1)
        weight.square().backward(torch.ones(2))
        optimizer.step()
    del weight, optimizer
    gc.collect()
    gc.freeze()
    gather()


def _serve(link: socket.socket, program: Program) -> bool:
    """Fork for one request and answer it; False when there will be no more."""
    message, ancillary, _, _ = link.recvmsg(LARGEST_REQUEST, socket.CMSG_SPACE(3 * 4))
    if not message:
        return False
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    request = json.loads(message)
    for name in request["ahead"]:  # the grader's choice
        importlib.import_module(name)
    process = _fork(link, request, list(descriptors), program)
    for descriptor in descriptors:
        os.close(descriptor)
    _tell(link, "started", process)
    return True


def _tell(link: socket.socket, what: str, process: int) -> None:
    handle = os.pidfd_open(process)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [handle]))]
    link.sendmsg([json.dumps({what: process}).encode()], rights)
    os.close(handle)


def _fork(link: socket.socket, request: Mapping[str, Any], descriptors: list[int], program: Program) -> int:
    """Return the id of a new process 1 of a world of its own, which never comes back here."""
    reader, writer = os.pipe()
    go, gate = os.pipe()
    owner = os.getuid(), os.getgid()

    def wait() -> None:
        os.write(writer, b".")
        if not os.read(go, 1):
            raise OSError("the grader did not let it go on")

    try:
        process = new_world()
    except OSError:
        reason = traceback.format_exc()
        process = os.fork()  # the request ends like a process that failed at once
        if process == 0:
            os.write(descriptors[0], reason.encode())
            os._exit(125)
    if process == 0:
        os.close(gate)
        _become(request, descriptors, program, lambda: settle(request["user"], *owner, wait))
    os.close(writer)
    os.close(go)
    if os.read(reader, 1):
        _tell(link, "waiting", process)
        if link.recv(LARGEST_REQUEST) == b"go":
            os.write(gate, b".")
    os.close(gate)
    os.close(reader)
    return process


def _become(request: Mapping[str, Any], descriptors: list[int], program: Program, settled: Callable[[], None]) -> None:
    """Be process 1 of a new world, and in process 2 the kernel, or the program, of a request; ends the process."""
    code = 125
    try:
        os.dup2(descriptors[0], 1)
        os.dup2(descriptors[0], 2)
        settled()
        code = 1
        os.setsid()
        fence = Fence(**request["fence"])
        _leave_process_1(fence, program)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.lseek(descriptors[1], 0, os.SEEK_SET)
        with os.fdopen(os.dup(descriptors[1]), "rb") as file:
            given = json.load(file)
        if linked := len(descriptors) > LINK_AT:
            os.dup2(descriptors[LINK_AT], LINK)
        os.closerange(LINK + linked, 1024)
        enter(fence, program)
        if request["variables"]:
            os.environ.update(request["variables"])
        for name, text in given["files"].items():
            os.makedirs(os.path.dirname(os.path.join(fence.home, name)), exist_ok=True)
            with open(os.path.join(fence.home, name), "wb") as file:
                file.write(bytes.fromhex(text))
        _run(given, linked)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _leave_process_1(fence: Fence, program: Program) -> None:
    """Go on as process 2, as in a box of its own: process 1 does not die of a signal that it sends itself.

    Process 2 goes on when process 1 has given up everything, which then waits, and ends as the other does: with its code, or with
    128 and the number of its signal. Where it cannot, it ends, and with it all of its world.
    """
    told, telling = os.pipe()
    child = next_process()
    if not child:
        os.close(telling)
        if not os.read(told, 1):
            raise OSError("process 1 has ended")
        return
    stand_by(fence, program)
    os.dup2(telling, 3)
    os.closerange(4, 1024)
    os.write(3, b".")
    os.close(3)
    while True:
        process, status = os.wait()
        if process == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def _run(given: Mapping[str, Any], linked: bool) -> None:
    if linked:
        from autograder.template.shell import serve

        serve(socket.socket(fileno=LINK))
        return
    if given["connection"] is not None:
        with open(CONNECTION_FILE, "w") as file:
            json.dump(given["connection"], file)
        if (shell := sys.modules.get("autograder.template.shell")) is not None:
            shell.unmake()
        words = ["-f", CONNECTION_FILE, *given["arguments"]]
        sys.argv = ["ipykernel_launcher", *words]
        exec(KERNEL.format(words=words), {"__name__": "__kernel__"})
        return
    sys.argv = ["-c", *given["arguments"]]
    path = os.path.join("/tmp", "program.py")
    with open(path, "w") as file:
        file.write(given["source"])
    runpy.run_path(path, run_name="__main__")


def _report_ends(link: socket.socket) -> None:
    """Tell of every child that is gone; the children of dead kernels end up here, too, and nobody asks for them."""
    while True:
        try:
            process, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if process == 0:
            return
        link.send(json.dumps({"ended": process, "code": os.waitstatus_to_exitcode(status)}).encode())


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
