"""Starting a kernel in a box (or, when told so, beside it): the one place that knows which rung of the ladder is used.

Now: a cold kernel per notebook. A warm template that forks kernels would be chosen here, with the callers unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path

from autograder.sandbox.box import Box
from autograder.sandbox.folder import RunFolder
from autograder.sandbox.policy import Limits
from autograder.sandbox.start import start_box
from autograder.sandbox.view import view

KERNEL_OPTIONS = (
    "--HistoryManager.enabled=False",  # no SQLite file
    "--IPKernelApp.parent_handle=1",  # no poll for a parent: the box ends with the grader anyway
)


def start_kernel(
    connection: Path,
    folder: RunFolder,
    limits: Limits,
    *,
    sandboxed: bool = True,
    files: Mapping[str, bytes] | None = None,
    variables: Mapping[str, str] | None = None,
) -> Future[Box]:
    """Start a kernel that listens where the connection file says; the file lies in the run folder.

    `files` (relative path -> content) are put into its home, `variables` are added to its environment.

    Raises (in the future):
        SandboxError, SandboxUnavailable: see `start_box`.
    """
    argv = [view().python, "-m", "ipykernel_launcher", "-f", str(connection), *KERNEL_OPTIONS]
    return start_box(argv, folder, limits, sandboxed=sandboxed, files=files or {}, variables=variables or {})
