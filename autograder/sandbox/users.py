"""The throw-away user ids of boxes that root builds: nobody's, and a different one for each box."""

from __future__ import annotations

import os
import secrets
import select

from autograder.errors import SandboxError, SandboxUnavailable
from autograder.sandbox.descriptors import pid_of

USER_IDS = (range(0x7000_0000, 0x8000_0000), range(30000, 60000))
"""Where root's boxes take a random throw-away user id from; the first that this machine maps.

Each box needs its own, or what the kernel counts for each user would be shared (processes, on older kernels, file descriptors on
their way from process to process, pipes). The first range is given to neither people, services
nor containers; two of 64 boxes in it meet once in 100,000 times. The second is for containers that map few ids.
"""


def throw_away_user() -> int:
    """A random id of those ranges.

    Raises:
        SandboxUnavailable: this machine (a container) maps none of them.
    """
    for ids in USER_IDS:
        if _mapped(ids):
            return ids[secrets.randbelow(len(ids))]
    raise SandboxUnavailable(
        "Root here has no spare user ids to give student code away to (/proc/self/uid_map is too short). "
        "Run the grader as an ordinary user."
    )


def give_user(handle: int, user_id: int) -> None:
    """Make `user_id` the only user of the new world of users in which the process behind a pidfd waits; root only.

    Raises:
        SandboxError: it could not be.
    """
    try:
        folder = os.open(f"/proc/{pid_of(handle)}", os.O_RDONLY | os.O_DIRECTORY)
        try:
            # The id may have been another process' already; from here on the folder's is not.
            if select.select([handle], [], [], 0)[0]:
                raise SandboxError("The process that a box was to start from is gone.")
            for name in ("gid_map", "uid_map"):
                with os.fdopen(os.open(name, os.O_WRONLY, dir_fd=folder), "w") as file:
                    file.write(f"{user_id} {user_id} 1")
        finally:
            os.close(folder)
    except OSError as error:
        raise SandboxError(f"A box could not be given a user of its own: {error}.") from error


def _mapped(ids: range) -> bool:
    with open("/proc/self/uid_map") as file:
        spans = [tuple(int(word) for word in line.split()) for line in file]
    return any(first <= ids.start and ids.stop <= first + count for first, _, count in spans)
