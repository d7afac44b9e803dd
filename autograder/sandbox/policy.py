"""What a boxed process may use and what it finds in its environment: numbers and names, no mechanism.

Not here: what it can see (view.py), which system calls it may make (seccomp.py), how a box is built (bwrap.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from autograder.errors import UsageError

HOME = "/tmp/home"
"""The private, empty home in the box; it lies in the box's own /tmp, so one size bounds both."""

MESSAGE_MB = 64
"""The largest single message that a client takes from a kernel; a larger one is read past and not kept."""

SHARED_MEMORY_MB = 64
"""Size of the box's /dev/shm (torch's DataLoader workers hand over batches there)."""

POLL_S = 0.1
"""How often the memory, the CPU time and the run folder of a box are looked at."""


@dataclass(frozen=True)
class Limits:
    """Bounds of one submission; CPU time decides, wall time guards.

    `cpu_s` and `memory_mb` hold for the whole process tree, `file_mb` for each file, `open_files` for each process,
    `scratch_mb` for /tmp with the home in it, `output_mb` for what one cell prints and shows.
    `wall_notebook_s` starts when the box starts. Where more boxes run than there are processors to share, `stretch` says how many
    to one: wall times are that much longer then, while the sentences name them unstretched.
    """

    cpu_s: float = 120
    wall_cell_s: float = 60
    wall_notebook_s: float = 600
    start_s: float = 60
    memory_mb: int = 4096
    processes: int = 128
    file_mb: int = 256
    scratch_mb: int = 256
    open_files: int = 256
    output_mb: float = 8
    stretch: float = 1

    def __post_init__(self) -> None:
        """Refuse a limit that is no number above zero; 0 and infinity mean "none" to some of the tools below."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 < value < math.inf:
                raise UsageError(
                    f"The limit {field.name} must be above zero and finite; {value!r} was given. Leave it out to take the default."
                )


def rlimits(limits: Limits) -> dict[str, int]:
    """The per-process limits, by the long option name of `prlimit`; soft and hard are the same number.

    `data` has headroom over `memory_mb` for stacks and arenas that are reserved and never touched: a single large
    allocation then fails in Python with MemoryError, and the watch over the tree catches the rest. `cpu` is a guard
    behind the watch, hence one second later.
    """
    mega = 1024 * 1024
    return {
        "core": 0,
        "cpu": int(limits.cpu_s) + 1,
        "data": (limits.memory_mb + 256) * mega,
        "fsize": limits.file_mb * mega,
        "memlock": mega,
        "msgqueue": 0,
        "nofile": limits.open_files,
        "nproc": limits.processes,
        "sigpending": 1024,
    }


def environment(path: str, python_path: str) -> dict[str, str]:
    """The whole environment of a boxed process: nothing of the grader's own is carried over.

    One thread per numerical library, since several boxes share the cores and results must not depend on how many there
    are; a fixed hash salt, so that a replay iterates sets in the same order.
    """
    return {
        "PATH": path,
        "PYTHONPATH": python_path,
        "HOME": HOME,
        "USER": "student",
        "LOGNAME": "student",
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "NUMEXPR_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONSAFEPATH": "1",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
