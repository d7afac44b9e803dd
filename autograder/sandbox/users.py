"""The throw-away user ids of boxes that root builds: nobody's, and a different one for each box."""

from __future__ import annotations

import secrets

from autograder.errors import SandboxUnavailable

USER_IDS = (range(0x7000_0000, 0x8000_0000), range(30000, 60000))
"""Where root's boxes take a random throw-away user id from; the first that this machine maps.

Each box needs its own, or the limit on processes would be shared. The first range is given to neither people, services
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


def _mapped(ids: range) -> bool:
    with open("/proc/self/uid_map") as file:
        spans = [tuple(int(word) for word in line.split()) for line in file]
    return any(first <= ids.start and ids.stop <= first + count for first, _, count in spans)
