"""How much memory and CPU time a whole tree of processes uses, seen from outside.

On Linux one walk over /proc serves all boxes. Elsewhere (only without a sandbox) psutil is asked.

Memory is what the tree alone holds: private pages plus shared memory, without the pages of files. The quick sum counts
pages twice that a fork shares with its parent; where that sum is over the limit, the exact one (PSS) decides. Not
counted: files in the box's /tmp and /dev/shm, which have sizes of their own, and buffers inside the kernel.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import psutil

ALL_AFTER_S = 1.0
"""So often every process is looked at, whatever was found out before."""

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@dataclass(frozen=True)
class Usage:
    """CPU time of the living and of the dead they waited for, the living's memory, and the own CPU time of each."""

    cpu_s: float
    memory_mb: float
    own_cpu_s: dict[int, float]


class Outsiders:
    """Processes that stand below no root, which most are: a process only gets below one by being born there.

    One is taken for an outsider when all above it are, never when the line was lost, since a parent may end meanwhile. It is told
    from another that later has its id by the number of its folder in /proc, which no two share.
    """

    def __init__(self) -> None:
        self.known: set[tuple[str, int]] = set()
        self.since_s = 0.0


def usage(roots: Iterable[int], outsiders: Outsiders | None = None) -> dict[int, Usage]:
    """The usage of each root process together with all below it; a root that is gone is left out.

    With `outsiders`, which is brought up to date, these are not looked at again for a while; `roots` must then be all there are.
    """
    roots = set(roots)
    if sys.platform != "linux":
        return _usage_elsewhere(roots)
    children: dict[int, list[int]] = defaultdict(list)
    times: dict[int, tuple[float, float]] = {}  # own, own and that of the children waited for
    known: set[tuple[str, int]] = set()
    if outsiders is not None and time.monotonic() - outsiders.since_s < ALL_AFTER_S:
        known = set() if any(int(name) in roots for name, _ in outsiders.known) else outsiders.known
    with os.scandir("/proc") as entries:
        folders = {(entry.name, entry.inode()) for entry in entries if entry.name.isdigit()}
    for name, _ in folders - known:
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb", buffering=0) as file:
            # The name in parentheses may hold spaces and parentheses: everything after the last one counts.
            words = file.read(4096).rpartition(b")")[2].split()
            children[int(words[1])].append(int(name))
            ticks = [int(word) for word in words[11:15]]
            times[int(name)] = (sum(ticks[:2]) / _TICKS, sum(ticks) / _TICKS)
    found = {}
    for root in roots:
        if root not in times:
            continue
        members, todo = [], [root]
        while todo:
            process = todo.pop()
            members.append(process)
            todo += children[process]
        found[root] = Usage(
            cpu_s=sum(times[process][1] for process in members),
            memory_mb=sum(_quick_mb(process) for process in members),
            own_cpu_s={process: times[process][0] for process in members},
        )
    if outsiders is not None:
        if not known:
            outsiders.since_s = time.monotonic()
        outside = {int(name) for name, _ in folders & known}
        todo = [0, *outside]
        while todo:
            born = [process for process in children[todo.pop()] if process not in roots]
            outside.update(born)
            todo += born
        outsiders.known = {folder for folder in folders if int(folder[0]) in outside}
    return found


def exact_memory_mb(processes: Iterable[int]) -> float | None:
    """The same memory with every shared page counted once; None where the kernel does not tell."""
    total = 0.0
    for process in processes:
        fields: dict[bytes, float] = {}
        try:
            with open(f"/proc/{process}/smaps_rollup", "rb") as file:
                for line in file:
                    words = line.split()
                    if words[0].startswith(b"Pss") and words[-1] == b"kB":
                        fields[words[0]] = int(words[1]) / 1024
        except (FileNotFoundError, ProcessLookupError):
            continue
        except (OSError, ValueError):
            return None
        if fields and b"Pss_Anon:" not in fields:
            return None
        total += fields.get(b"Pss_Anon:", 0.0) + fields.get(b"Pss_Shmem:", 0.0)
    return total


def _quick_mb(process: int) -> float:
    with suppress(OSError, ValueError), open(f"/proc/{process}/status", "rb") as file:
        return sum(
            int(line.split()[1]) / 1024 for line in file if line.startswith((b"RssAnon:", b"RssShmem:", b"VmSwap:"))
        )
    return 0.0


def _usage_elsewhere(roots: Iterable[int]) -> dict[int, Usage]:
    found = {}
    for root in roots:
        memory_mb = 0.0
        own_cpu_s = {}
        with suppress(psutil.Error):
            top = psutil.Process(root)
            for process in [top, *top.children(recursive=True)]:
                with suppress(psutil.Error):
                    times = process.cpu_times()
                    own_cpu_s[process.pid] = times.user + times.system
                    memory_mb += process.memory_info().rss / 2**20
        if own_cpu_s:
            found[root] = Usage(sum(own_cpu_s.values()), memory_mb, own_cpu_s)
    return found
