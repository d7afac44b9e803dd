"""A grader process of a Dask worker: it says what it is, then does one call after the other, in its main thread.

Started by `autograder.cluster.graders` with one end of a socket. It is no Dask process: a task of Dask's runs in a thread, where
the alarms of the probe do not ring, and a Dask worker that computes for a minute is taken for dead. It ends when the other end
of its socket is gone, however that came, or when nobody wanted anything of it for a while.
"""

from __future__ import annotations

import os
import pickle
import select
import socket
import sys
import threading
from concurrent.futures import Future
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from autograder.cluster.fitness import About, Wanted, differences
from autograder.errors import AutograderError, SandboxError
from autograder.grading.place import find_course

IDLE_S = 900.0
"""A run that was killed leaves graders behind; nobody asks them for anything any more."""


def main(descriptor: int) -> None:
    """Serve the socket of that number until its other end is gone."""
    _end_with(descriptor)
    link: Connection[Any, Any] = Connection(descriptor)
    wanted = pickle.loads(link.recv_bytes())
    assert isinstance(wanted, Wanted)
    link.send_bytes(pickle.dumps(_opened(wanted)))
    while link.poll(IDLE_S):
        try:
            asked = link.recv_bytes()
        except EOFError:
            return
        if not asked:  # the orderly end
            return
        link.send_bytes(_answer(asked))


def _opened(wanted: Wanted) -> About:
    """Open the course, start the template and try it; the trouble is ours, and in words."""
    host = socket.gethostname()
    kernels: Future[str] = Future()
    # The template starts while this process imports torch.
    threading.Thread(target=_try_kernels, args=(wanted.sandboxed, kernels), daemon=True).start()
    try:
        from autograder.grading.worker import open_course

        course = Path(wanted.course) if wanted.course is not None else find_course()
        open_course(course)
        differing = differences(course, wanted)
        if differing:
            return About(host, trouble=differing)
        return About(host, kernels.result())
    except AutograderError as error:
        return About(host, trouble=str(error))


def _try_kernels(sandboxed: bool, told: Future[str]) -> None:
    try:
        told.set_result(_kernels() if sandboxed else "without a sandbox")
    except BaseException as error:
        told.set_exception(error)


def _kernels() -> str:
    """Start the template, or try a box of its own; SandboxError where student code cannot be kept in."""
    from autograder.kernel import launch
    from autograder.sandbox import bwrap
    from autograder.sandbox.escapes import TRIAL, escapes
    from autograder.sandbox.folder import RunFolder
    from autograder.sandbox.start import start_box
    from autograder.sandbox.view import view

    bwrap.programs()
    if launch.template() is not None:
        return "warm"
    done = escapes(
        lambda source, arguments: (
            start_box([view().python, "-I", "-c", source, *arguments], RunFolder(), TRIAL)
            .result()
            .ended.result(timeout=60)
        )
    )
    if done:
        raise SandboxError(f"Student code in a box {'; '.join(done)}. Run `autograder doctor` there.")
    return "cold" + (f", because {launch.why_cold()}" if launch.why_cold() else "")


def _answer(asked: bytes) -> bytes:
    try:
        call, arguments, words = pickle.loads(asked)
        return pickle.dumps((True, call(*arguments, **words)))
    except BaseException as error:
        try:
            return pickle.dumps((False, error))
        except Exception:  # an exception may hold what cannot travel
            return pickle.dumps((False, RuntimeError(repr(error))))


def _end_with(descriptor: int) -> None:
    """End this process as soon as the socket's other end is closed, also in the middle of a call."""

    def watch() -> None:
        poll = select.poll()
        poll.register(descriptor, select.POLLRDHUP)
        poll.poll()
        os._exit(1)  # its boxes end with it; the next grader removes their folders

    threading.Thread(target=watch, name="end-with-worker", daemon=True).start()


if __name__ == "__main__":
    main(int(sys.argv[1]))
