"""Starting a box: file descriptors, the throw-away user, the first words of bubblewrap.

The only module that starts untrusted programs. A caller names a command, a run folder and limits, and gets a `Box`.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from autograder.errors import SandboxError, SandboxUnavailable
from autograder.sandbox import bwrap, seccomp
from autograder.sandbox.box import Box
from autograder.sandbox.cgroup import Group
from autograder.sandbox.descriptors import first_process, is_gone, pid_of, sealed
from autograder.sandbox.folder import RunFolder
from autograder.sandbox.groups import group_for
from autograder.sandbox.keeper import keeper
from autograder.sandbox.policy import Limits, environment
from autograder.sandbox.remedies import ASK_DOCTOR
from autograder.sandbox.users import throw_away_user
from autograder.sandbox.view import view
from autograder.sandbox.warm import Template


@dataclass(frozen=True)
class Order:
    """What to start: the command, its run folder if it needs one, limits, files for its home, additions to its environment."""

    argv: list[str]
    folder: RunFolder | None
    limits: Limits
    files: dict[str, bytes]
    variables: dict[str, str]
    link: socket.socket | None = None  # inherited


def start_box(
    argv: Sequence[str],
    folder: RunFolder | None,
    limits: Limits,
    *,
    sandboxed: bool = True,
    files: Mapping[str, bytes] | None = None,
    variables: Mapping[str, str] | None = None,
    link: socket.socket | None = None,
) -> Future[Box]:
    """Start `argv` in a box (or, without a sandbox, as an ordinary process that is only watched).

    The run folder is deleted when the box has ended, and also when it could not be started. A `link` is inherited, under the
    number that it has here, and closed here.

    Raises (in the future):
        SandboxUnavailable: the machine cannot give a sandbox.
        SandboxError: it can, and building this one failed.
    """
    order = Order(list(argv), folder, limits, dict(files or {}), dict(variables or {}), link)

    def make() -> Box:
        try:
            return _boxed(order) if sandboxed else _unboxed(order)
        except BaseException:
            if folder is not None:
                folder.remove()
            raise
        finally:
            if link is not None:
                link.close()

    return keeper().start(make)


def _boxed(order: Order) -> Box:
    if sys.platform != "linux":
        raise SandboxUnavailable(
            f"Student code is boxed with bubblewrap, which needs Linux; this is {sys.platform}. "
            "Use a Linux machine, a virtual machine or WSL2, or read in `autograder doctor` what --no-sandbox means."
        )
    folder, limits = order.folder, order.limits
    paths = bwrap.programs()
    shown, allowed = view(), seccomp.program()
    user_id = throw_away_user() if bwrap.is_root() else None
    _give_away(folder, user_id)
    descriptors: list[int] = []  # handed to bubblewrap, which reads them once

    def hand_over(data: bytes) -> int:
        descriptors.append(sealed(data))
        return descriptors[-1]

    group = group_for(limits)
    info, info_end = os.pipe()
    gate, gate_end = os.pipe()
    descriptors += [info_end, gate]
    output, output_end = os.pipe()
    try:
        files = {name: hand_over(data) for name, data in order.files.items()}
        place = str(folder.path) if folder else None
        words = bwrap.options(shown, place, limits, user_id=user_id, files=files)
        command = [paths.bwrap, "--args", str(hand_over("\0".join(words).encode()))]
        command += ["--seccomp", str(hand_over(allowed)), "--info-fd", str(info_end)]
        # Process 1 waits there, before it starts any other, until it is where it belongs.
        command += ["--block-fd", str(gate), "--"]
        command += bwrap.inner(order.argv, limits, paths, user_id=user_id)
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output_end,
            stderr=output_end,
            pass_fds=[*descriptors, *_inherited(order)],
            # bubblewrap hands its own environment on, and /proc/1/environ of the box shows it too.
            env=environment(shown.path, shown.python_path) | order.variables,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        for descriptor in (info, gate_end, output):
            os.close(descriptor)
        if group is not None:
            group.remove()
        raise SandboxError(
            f"bubblewrap could not be started: {error}. Look at the machine's memory and load."
        ) from error
    finally:
        for descriptor in (*descriptors, output_end):
            os.close(descriptor)
    os.set_blocking(output, False)
    handle = None
    try:
        handle = first_process(info)
        if handle is None:
            raise _refusal(process, output)
        if group is not None:
            _admit(group, handle, process, output)
        return Box(process, handle, output, folder, limits, user_id, boxed=True, group=group)
    except BaseException:
        _end(process, handle, output, group)
        raise
    finally:
        os.close(info)
        os.close(gate_end)


def start_fork(
    template: Template,
    folder: RunFolder | None,
    limits: Limits,
    given: Mapping[str, Any],
    *,
    variables: Mapping[str, str] | None = None,
    link: socket.socket | None = None,
) -> Future[Box]:
    """Have the template fork what `given` says (see `autograder.template.process`); a run folder lies in the template's.

    The run folder is deleted when the box has ended, and also when it could not be started. With a `link` the fork is a
    notebook's kernel at its other end; here it is closed.

    Raises (in the future):
        SandboxError: the template is gone, or does not answer.
    """

    def make() -> Box:
        group: Group | None = None
        output, output_end = os.pipe()
        try:
            group = group_for(limits)
            user_id = throw_away_user() if bwrap.is_root() else None
            _give_away(folder, user_id)
            fork = template.fork(
                folder, limits, given, variables or {}, output_end, user_id=user_id, group=group, link=link
            )
        except BaseException:
            os.close(output)
            if folder is not None:
                folder.remove()
            if group is not None:
                group.remove()
            raise
        finally:
            os.close(output_end)
            if link is not None:
                link.close()
        os.set_blocking(output, False)
        return Box(fork, fork.handle, output, folder, limits, user_id, boxed=True, group=group)

    return keeper().start(make)


def _inherited(order: Order) -> list[int]:
    return [] if order.link is None or sys.platform == "win32" else [order.link.fileno()]


def _give_away(folder: RunFolder | None, user_id: int | None) -> None:
    if user_id is not None and folder is not None:
        os.chown(folder.path, user_id, user_id)
        for entry in os.scandir(folder.path):
            os.chown(entry.path, user_id, user_id, follow_symlinks=False)


def _admit(group: Group, handle: int, process: subprocess.Popen[bytes], output: int) -> None:
    """Put process 1 into the box's control group; where it ended before that, what it said is the reason."""
    try:
        group.admit(pid_of(handle))
    except SandboxError as error:
        if is_gone(handle):
            raise _refusal(process, output) from error
        raise


def _end(process: subprocess.Popen[bytes], handle: int | None, output: int, group: Group | None) -> None:
    """Give up a box whose start failed, its process 1 first, which still waits."""
    if handle is not None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)
    process.kill()
    process.wait()
    os.close(output)
    if group is not None:
        group.remove()


def _refusal(process: subprocess.Popen[bytes], output: int) -> SandboxError:
    process.kill()
    process.wait()
    said = b""
    with suppress(OSError):
        said = os.read(output, 65536)
    return refusal(said.decode("utf-8", "replace").strip() or f"exit code {process.returncode}")


def refusal(words: str) -> SandboxError:
    """The error for what bubblewrap said when it could not build a box, also where it said so a moment later."""
    kind = SandboxError
    if any(sign in words for sign in ("ermission denied", "not permitted", "No permissions", "namespace")):
        kind = SandboxUnavailable
    return kind(f"bubblewrap could not build a box: {words.rstrip('.')}.{ASK_DOCTOR}")


def _unboxed(order: Order) -> Box:
    assert order.folder is not None
    home = order.folder.path / "home"
    home.mkdir()
    for name, data in order.files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(data)
    variables = environment(os.environ.get("PATH", os.defpath), os.environ.get("PYTHONPATH", ""))
    variables |= {"HOME": str(home), "TMPDIR": str(home), **order.variables}
    if sys.platform == "win32":
        variables = {**os.environ, **variables}
    process = subprocess.Popen(
        order.argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=_inherited(order),
        env=variables,
        cwd=home,
        start_new_session=True,
    )
    return Box(process, None, None, order.folder, order.limits, None, boxed=False)
