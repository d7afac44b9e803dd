"""Starting a kernel in a box (or, when told so, beside it): the one place that knows which rung of the ladder is used.

Warm: a fork of this process' template, which has everything imported; about 50 ms. Cold: bubblewrap and a new Python for each
kernel; a second or two. The template is made when the first kernel is asked for, or by `begin`, and tried: a fork of it attempts to
get out, and unless every attempt fails, kernels are cold. AUTOGRADER_KERNELS=cold asks for that.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

from autograder.errors import SandboxError
from autograder.kernel.wire import Wire
from autograder.sandbox.box import Box
from autograder.sandbox.bwrap import TEMPLATE_PLACE
from autograder.sandbox.escapes import escapes_of_a_fork, missing_in_a_fork
from autograder.sandbox.folder import RunFolder
from autograder.sandbox.groups import close as close_groups
from autograder.sandbox.keeper import keeper
from autograder.sandbox.policy import Limits
from autograder.sandbox.start import start_box, start_fork
from autograder.sandbox.view import view
from autograder.sandbox.warm import Template

VARIABLE = "AUTOGRADER_KERNELS"
KERNEL_OPTIONS = (
    "--HistoryManager.enabled=False",  # no SQLite file
    "--IPKernelApp.parent_handle=1",  # no poll for a parent: the box ends with the grader anyway
)
PRELOAD = (
    "numpy",
    "torch",
    "numpy.random",
    "IPython.core.completerlib",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "IPython.display",
    "autograder.probe.serve",
    "autograder.student",
    "autograder.template.shell:rehearse",
    "autograder.probe.rehearsal:rehearse",
)
"""What the template imports: modules, and functions that import by being called."""

NEEDED = ("IPython.core.debugger", "matplotlib_inline.backend_inline")  # whose files a fork must see
READY_S = 60.0

_log = logging.getLogger(__name__)
_lock = threading.Lock()
_template: Template | None = None
_refused = ""  # why there is none
_candidate: Template | None = None  # the last one that was tried
_ending = False


def begin() -> None:
    """Have the template made while the caller goes on: it imports torch in its box, which takes as long as importing it here.

    Nothing is lost where the caller ends before it is done, or where there can be none: whoever asks for a kernel waits, and
    hears why.
    """
    threading.Thread(target=template, name="template-begins", daemon=True).start()


def new_folder(name: str | None = None) -> RunFolder:
    """Return a run folder for an ordinary kernel, which also settles how it will be started; may take seconds the first time."""
    found = template()
    return RunFolder(name, within=found.folder if found else None)


def template() -> Template | None:
    """Return this process' template, made and tried if need be; None where kernels are cold."""
    global _template, _refused
    if os.environ.get(VARIABLE) == "cold":
        return None
    with _lock:
        if _template is not None and not _template.alive:
            _template.close()
            _template = None
        if _template is None and not _refused:
            try:
                _template = _made()
            except (SandboxError, OSError) as error:
                _refused = str(error)
                if not _ending:  # which ends what was begun
                    _log.warning("Kernels are started cold, one by one, because a warm one cannot be had: %s", error)
        return _template


def why_cold() -> str:
    """Return why there is no template, or nothing."""
    return _refused


def _made() -> Template:
    if sys.platform != "linux":
        raise SandboxError(f"a warm template needs Linux; this is {sys.platform}.")
    global _candidate
    atexit.unregister(end)
    atexit.register(end)
    made = _candidate = keeper().call(lambda: Template(PRELOAD)).result()
    try:
        made.wait_until_ready(READY_S)
        lacking = missing_in_a_fork(made, NEEDED)  # runs beside the trial
        found = escapes_of_a_fork(made)
        if found:
            raise SandboxError(f"student code in a fork of the template {'; '.join(found)}.")
        if lacking():
            raise SandboxError(f"a fork of the template cannot import what a notebook needs: {lacking()}")
    except BaseException:
        made.close()
        raise
    return made


async def ready(*, sandboxed: bool = True) -> None:
    """Have it settled how kernels are started, which may take seconds the first time; nothing is left where that is cancelled."""
    if sandboxed and (_template is None or not _template.alive):
        await asyncio.shield(asyncio.to_thread(template))


def start_shell(wire: Wire, limits: Limits, *, sandboxed: bool = True, ahead: Sequence[str] = ()) -> Future[Box]:
    """Start a notebook's kernel at the other end of a wire, as `ready` has settled.

    `ahead` names modules that a template is to import first, if it has not yet: the next kernels need not.

    Raises (in the future):
        SandboxError, SandboxUnavailable: see `start_box`, `start_fork`.
    """
    found = _template if sandboxed and os.environ.get(VARIABLE) != "cold" else None
    if found is not None:
        return start_fork(found, None, limits, {"ahead": list(ahead), "files": {}}, link=wire.theirs)
    argv = [view().python, "-m", "autograder.template.shell", wire.where]
    return start_box(argv, None if sandboxed else RunFolder(), limits, sandboxed=sandboxed, link=wire.theirs)


def start_kernel(
    connection: Path,
    folder: RunFolder,
    limits: Limits,
    *,
    files: Mapping[str, bytes] | None = None,
    variables: Mapping[str, str] | None = None,
) -> Future[Box]:
    """Start an ordinary kernel, for Jupyter's own clients: it listens where the connection file says.

    The file lies in the run folder, one of `new_folder`. `files` (relative path -> content) are put into its home, `variables`
    are added to its environment.

    Raises (in the future):
        SandboxError, SandboxUnavailable: see `start_box`, `start_fork`.
    """
    found = _template
    if found is not None and folder.path.parent == found.folder.path:
        told = json.loads(connection.read_text())
        given = {
            "connection": {**told, "ip": f"{TEMPLATE_PLACE}/{Path(told['ip']).name}"},
            "arguments": list(KERNEL_OPTIONS),
            "files": {name: data.hex() for name, data in (files or {}).items()},
        }
        return start_fork(found, folder, limits, given, variables=variables)
    argv = [view().python, "-m", "ipykernel_launcher", "-f", str(connection), *KERNEL_OPTIONS]
    return start_box(argv, folder, limits, files=files or {}, variables=variables or {})


def end() -> None:
    """End the template and its kernels, also one that is being made; at the end of the process it comes by itself (atexit)."""
    global _ending
    _ending = True
    if _candidate is not None:
        _candidate.kill()
    with _lock:  # whoever tries it has heard of its end, and given it up
        if _template is not None:
            _template.close()
    close_groups()


def _forget() -> None:
    # A forked child has the data of the template, which belongs to its parent.
    global _template, _candidate, _lock
    atexit.unregister(end)
    _template, _candidate, _lock = None, None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
