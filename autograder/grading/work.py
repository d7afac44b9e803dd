"""What goes to a worker and what comes back, and the worker's door: importing this imports neither torch nor a notebook's format.

So whoever hands out the work is ready at once, and a worker can have its template begin before it imports torch itself. What is
behind the door: worker.py.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.util import Finalize
from pathlib import Path

from autograder.grading.importing import importing
from autograder.kernel import launch
from autograder.sandbox.policy import Limits


@dataclass(frozen=True)
class Work:
    """One submission to grade: its bytes, or the sentence that says why there are none; and what decides its grade beside them."""

    lab: str
    version: str
    student: str
    raw: bytes | None
    unreadable: str
    seed: int
    limits: Limits
    sandboxed: bool


@dataclass(frozen=True)
class Result:
    """What came of it, as text: the JSON of a report and of a notebook, or `trouble`, our own failure."""

    student: str
    report: str = ""
    notebook: str = ""
    trouble: str = ""


def begin(course: Path | None, sandboxed: bool = True) -> None:
    """Begin a worker process: it grades with this course, and ends with the process that has started it."""
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()
    if sandboxed:
        launch.begin()  # imports torch in its box while this process does the same
        Finalize(None, launch.end, exitpriority=1)  # a process that multiprocessing forked runs nothing of atexit's
    with importing():
        from autograder.grading.worker import open_course
    open_course(course)


def _end_with_parent() -> None:
    """End this process, and with it the template and its kernels, once the one that asked for it is gone, however that came.

    A worker that a server has forked is that server's child, and would keep it alive.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def grade_bundle(works: Sequence[Work], at_once: int = 1, stretch: float = 1) -> tuple[Result, ...]:
    """Grade some submissions; see `autograder.grading.worker.grade_bundle`."""
    from autograder.grading import worker

    return worker.grade_bundle(works, at_once, stretch)
