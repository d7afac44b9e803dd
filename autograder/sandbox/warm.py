"""The grader's end of a template: a warm process in a box that forks a fenced-off kernel for each request.

Theory of operation. One template per grader process, started and spoken to by the keeper's thread alone; anybody may close it. A
request goes over a socket that carries whole messages; the answer brings a pidfd, through which the fork is watched and ended,
so that no reused process id is ever meant. All run folders of its forks lie in one folder, since a box can be shown no new one
later; a fork sees only its own. When the template is gone, so are its forks, and the next caller makes another.
"""

from __future__ import annotations

import array
import json
import os
import select
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from autograder.errors import SandboxError
from autograder.sandbox import bwrap, seccomp
from autograder.sandbox.cgroup import Group
from autograder.sandbox.descriptors import first_process, is_gone, pid_of, sealed
from autograder.sandbox.folder import RunFolder
from autograder.sandbox.policy import HOME, SHARED_MEMORY_MB, Limits, environment, rlimits
from autograder.sandbox.users import give_user, throw_away_user
from autograder.sandbox.view import view

ANSWER_S = 20
"""A fork takes some 10 ms; a template that needs longer than this is given up."""

LARGEST_MESSAGE = 65536


class Fork:
    """A process that the template made, with as much of `subprocess.Popen` as a box needs."""

    def __init__(self, template: Template, number: int, pid: int, handle: int) -> None:
        self._template, self._number = template, number
        self.pid = pid
        self.handle = handle
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, 128 and the number for a signal (as bubblewrap says it), or None while it runs."""
        if self.returncode is None and is_gone(self.handle):
            self.returncode = self._template.code_of(self._number)
        return self.returncode

    def kill(self) -> None:
        """Nothing: the box ends it through the pidfd."""


ALLOCATOR = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=200"}
"""Keep more small pieces of memory at hand than seven of each size: torch takes and returns them for each operator.

The C library reads it when a process begins; the template takes it out of the environment, in which students' code looks.
"""


class Template:
    """A running template; `start` must be called by a thread that lives as long as the process."""

    def __init__(self, preload: Sequence[str]) -> None:
        self.user_id = throw_away_user() if bwrap.is_root() else None
        self.folder = RunFolder()
        self.landlock = 0
        self._init: int | None = None  # of process 1 of its box
        self._codes: dict[int, int] = {}
        self._using = (
            threading.RLock()
        )  # so that nobody reads from the socket's number when that is another file's already
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._process = self._started(theirs, preload)
        except BaseException:
            self.close()
            raise
        finally:
            theirs.close()

    def _started(self, theirs: socket.socket, preload: Sequence[str]) -> subprocess.Popen[bytes]:
        paths, shown = bwrap.programs(), view()
        if self.user_id is not None:
            os.chmod(self.folder.path, 0o711)  # its forks, each another user, go through it to a folder of their own
        words = bwrap.template_options(shown, str(self.folder.path), user_id=self.user_id)
        program = sealed(seccomp.program())
        options = sealed("\0".join(words).encode())
        argv = [shown.python, "-m", "autograder.template.process", str(theirs.fileno()), str(program), *preload]
        info, info_end = os.pipe()
        command = [paths.bwrap, "--args", str(options), "--info-fd", str(info_end), "--"]
        command += bwrap.template_inner(argv, paths, user_id=self.user_id)
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno(), program, options, info_end],
                env=environment(shown.path, shown.python_path) | ALLOCATOR,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            os.close(info)
            raise SandboxError(f"bubblewrap could not be started: {error}.") from error
        finally:
            for descriptor in (program, options, info_end):
                os.close(descriptor)
        # bubblewrap's own death ends its box only from a certain moment on; process 1's always does.
        self._init = first_process(info)
        os.close(info)
        return process

    @property
    def alive(self) -> bool:
        """False once the template is gone, and all its forks with it."""
        return self._process.poll() is None

    def wait_until_ready(self, within_s: float) -> None:
        """Wait until everything is imported.

        Raises:
            SandboxError: it ended, or took longer.
        """
        if select.select([self._link], [], [], within_s)[0]:
            with suppress(OSError, ValueError, KeyError):
                self.landlock = int(json.loads(self._link.recv(LARGEST_MESSAGE))["landlock"])
                return
        self._kill()
        said = self._process.communicate()[1].decode("utf-8", "replace").strip()
        raise SandboxError(f"The warm template did not start: {said[-2000:] or f'no word after {within_s:g} s'}")

    def fork(
        self,
        folder: RunFolder | None,
        limits: Limits,
        given: Mapping[str, Any],
        variables: Mapping[str, str],
        output: int,
        *,
        user_id: int | None,
        group: Group | None,
        link: socket.socket | None = None,
    ) -> Fork:
        """Have a fork made: `given` is what it runs, `output` the descriptor that it writes its standard error to.

        With a `link`, the fork is a notebook's kernel at the other end of it. `user_id` is whose it becomes (root only), `group`
        the control group that it is put into.

        Raises:
            SandboxError: the template is gone, or does not answer, or the fork could not be given its user and group.
        """
        fence = {  # the fields of `autograder.template.nest.Fence`
            "folders": bwrap.TEMPLATE_FOLDERS,
            "name": folder and folder.path.name,
            "place": bwrap.TEMPLATE_PLACE,
            "rlimits": rlimits(limits),
            "scratch_mb": limits.scratch_mb,
            "shared_memory_mb": SHARED_MEMORY_MB,
            "home": HOME,
        }
        order = {"fence": fence, "user": user_id, "variables": dict(variables), "ahead": given.get("ahead", [])}
        request = json.dumps(order).encode()
        content = sealed(json.dumps(given).encode())
        try:
            handed = [output, content, *([] if link is None else [link.fileno()])]
            with self._using:
                return self._forked(request, handed, user_id, group)
        except OSError as error:
            raise SandboxError(f"The warm template is gone: {error}.") from error
        finally:
            os.close(content)

    def _forked(self, request: bytes, handed: list[int], user_id: int | None, group: Group | None) -> Fork:
        fault: SandboxError | None = None
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", handed))]
        self._link.sendmsg([request], rights)
        while True:
            if not select.select([self._link], [], [], ANSWER_S)[0]:
                self._kill()  # what it would still make, nobody would watch
                raise SandboxError(f"The warm template did not answer within {ANSWER_S} s.")
            answer, handle = self._receive()
            if handle is None:
                continue
            if "waiting" in answer:
                fault = self._let_go(handle, user_id, group)
            elif fault is not None:
                os.close(handle)
                raise fault
            else:
                return Fork(self, int(answer["started"]), pid_of(handle), handle)

    def _let_go(self, handle: int, user_id: int | None, group: Group | None) -> SandboxError | None:
        """Put a fork where it belongs while it waits, and let it go on, or else end; takes over the handle."""
        fault = None
        try:
            if user_id is not None:
                give_user(handle, user_id)
            if group is not None:
                group.admit(pid_of(handle))
        except SandboxError as error:
            fault = error
        finally:
            os.close(handle)
        self._link.send(b"go" if fault is None else b"no")
        return fault

    def code_of(self, number: int) -> int | None:
        """Return how a process that is gone ended, as soon as the template has told, for which it is given a moment."""
        with self._using:
            while number not in self._codes and (self._closed or select.select([self._link], [], [], 0.005)[0]):
                try:
                    self._receive()
                except OSError:
                    return 128 + 9  # it went down with the template
        code = self._codes.pop(number, None)
        return code if code is None or code >= 0 else 128 - code

    @property
    def _closed(self) -> bool:
        return self._link.fileno() < 0

    def _receive(self) -> tuple[dict[str, Any], int | None]:
        message, ancillary, _, _ = self._link.recvmsg(LARGEST_MESSAGE, socket.CMSG_SPACE(4))
        if not message:
            raise ConnectionError("it closed its end")
        handles = array.array("i")
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                handles.frombytes(data[: len(data) - len(data) % handles.itemsize])
        answer = dict(json.loads(message))
        if "ended" in answer:
            self._codes[int(answer["ended"])] = int(answer["code"])
        return answer, handles[0] if handles else None

    def kill(self) -> None:
        """End it and every fork that still runs; may be called by any thread. Who waits for it or uses it hears of that."""
        self._kill()

    def close(self) -> None:
        """End it, and every fork that still runs; may be called by any thread."""
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)  # who waits for its answer waits no longer
        with self._using:
            self._link.close()
        if hasattr(self, "_process"):
            self._kill()
            self._process.wait()
            if self._process.stderr is not None:
                self._process.stderr.close()
        if self._init is not None:
            handle, self._init = self._init, None
            os.close(handle)
        self.folder.remove()

    def _kill(self) -> None:
        if self._init is not None:
            with suppress(OSError):
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
        self._process.kill()
