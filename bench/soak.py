"""What piles up in a long run of 2,000 submissions: `python -m bench.soak [--students N] [--jobs N] [--at-once N]`.

A class is graded by the command itself, and everything that it started is looked at twice a second from outside: the largest memory
of the grader and of each worker, what a kernel holds alone (its private pages, also those that it has copied from the template),
descriptors, dead processes that nobody waited for, run folders. Told are the largest of each, and the first and the last fifth of
the run beside each other: what is the same in both does not pile up. A kernel lives for about half a second, so that a look meets
it anywhere in its life; the largest of many looks is told, which is not more than it ever held.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from autograder.grading.course import find_course
from autograder.sandbox.bwrap import is_root
from bench.meter import adopt_orphans
from bench.ours import AUTOGRADER, ENVIRONMENT, OwnCourse
from bench.submissions import LABS, SEED, class_of
from bench.tables import table

STUDENTS = 2000
LOOK_S = 0.5
FIFTH = 5
GRADER_MB, KERNEL_MB = 500, 60  # the goals
TEMPLATE = "autograder.template.process"


@dataclass
class Look:
    """What was seen at one moment."""

    reports: int
    grader_mb: float = 0.0
    workers_mb: list[float] = field(default_factory=list)
    templates_mb: list[float] = field(default_factory=list)
    kernels_mb: list[float] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)  # of the grader and each worker
    processes: int = 0
    dead: int = 0
    folders: int = 0


def measure(
    course: Path, scratch: Path, lab: str = LABS["lab1"], students: int = STUDENTS, words: Sequence[str] = ()
) -> dict[str, Any]:
    """Grade a class and return what was seen; `words` are further options of `autograder grade`."""
    own = OwnCourse(scratch / "soak" / lab, course, lab)
    own.hand_in(class_of(course, lab, students))
    variables = {k: v for k, v in {**os.environ, **ENVIRONMENT}.items() if v is not None}
    adopt_orphans()
    before, began_s = _folders(), time.perf_counter()
    with tempfile.TemporaryFile() as said:
        command = [str(AUTOGRADER), "grade", lab, "--seed", str(SEED), "--json", *words]
        process = subprocess.Popen(command, cwd=own.folder, env=variables, stdout=said, stderr=subprocess.STDOUT)
        looks: list[Look] = []
        while process.poll() is None:
            with suppress(psutil.Error):
                looks.append(_look(psutil.Process(process.pid), own, before))
            time.sleep(LOOK_S)
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
    wall_s = time.perf_counter() - began_s
    if process.returncode != 0:
        raise SystemExit(f"autograder grade ended with {process.returncode}:\n{text[-3000:]}")
    time.sleep(1)
    left = [other for other in psutil.Process().children(recursive=True) if other.status() != psutil.STATUS_ZOMBIE]
    kernels = sorted(mb for look in looks for mb in look.kernels_mb)
    return {
        "students": students,
        "reports": len(own.points()),
        "user": "root" if is_root() else "an ordinary user",
        "wall_s": wall_s,
        "looks": len(looks),
        "grader_mb": _largest(look.grader_mb for look in looks),
        "worker_mb": _largest(mb for look in looks for mb in look.workers_mb),
        "template_mb": _largest(mb for look in looks for mb in look.templates_mb),
        "kernels_seen": len(kernels),
        "kernel_mb": _largest(kernels),
        "kernel_median_mb": statistics.median(kernels) if kernels else 0.0,
        "dead_at_once": _largest(look.dead for look in looks),
        "folders_at_once": _largest(look.folders for look in looks),
        "first_fifth": _part(looks, students, 1),
        "last_fifth": _part(looks, students, FIFTH),
        "left": {"processes": len(left), "folders": len(_folders() - before)},
    }


def _look(top: psutil.Process, own: OwnCourse, before: set[Path]) -> Look:
    look = Look(sum(1 for _ in (own.folder / "reports" / own.lab).glob("*.json")))
    look.folders = len(_folders() - before)
    grader_and_workers = [top]
    templates: list[psutil.Process] = []
    for process in top.children(recursive=True):
        with suppress(psutil.Error):
            look.processes += 1
            look.dead += process.status() == psutil.STATUS_ZOMBIE
            words = process.cmdline()
            if "multiprocessing" in " ".join(words):
                grader_and_workers.append(process)
            # A kernel's processes are forks of the template, and have its words, too.
            if TEMPLATE in words and process.name() != "bwrap" and not _below(process, templates):
                templates.append(process)
    for template in templates:
        with suppress(psutil.Error):
            look.templates_mb.append(_private_mb(template.pid))
            for first in template.children():
                kernel = [first, *first.children(recursive=True)]
                look.kernels_mb.append(sum(_private_mb(process.pid) for process in kernel))
    for process in grader_and_workers:
        with suppress(psutil.Error):
            peak_mb = _peak_mb(process.pid)
            if process is top:
                look.grader_mb = peak_mb
            else:
                look.workers_mb.append(peak_mb)
            look.descriptors.append(process.num_fds())
    return look


def _below(process: psutil.Process, others: Sequence[psutil.Process]) -> bool:
    return not {parent.pid for parent in process.parents()}.isdisjoint(other.pid for other in others)


def _part(looks: Sequence[Look], students: int, fifth: int) -> dict[str, float]:
    """Return the largest of everything in a part of the run."""
    part = [look for look in looks if (fifth - 1) * students <= FIFTH * look.reports <= fifth * students]
    return {
        "grader_mb": _largest(look.grader_mb for look in part),
        "worker_mb": _largest(mb for look in part for mb in look.workers_mb),
        "template_mb": _largest(mb for look in part for mb in look.templates_mb),
        "kernel_mb": _largest(mb for look in part for mb in look.kernels_mb),
        "descriptors": _largest(number for look in part for number in look.descriptors),
        "processes": _largest(look.processes for look in part),
        "dead": _largest(look.dead for look in part),
        "folders": _largest(look.folders for look in part),
    }


def _largest(numbers: Iterable[float]) -> float:
    return max(numbers, default=0)


def _peak_mb(pid: int) -> float:
    """Return the most memory that a process ever had (VmHWM), which includes what it shares."""
    with suppress(OSError), open(f"/proc/{pid}/status") as file:
        return next((int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM")), 0.0)
    return 0.0


def _private_mb(pid: int) -> float:
    """Return the memory that a process has alone."""
    with suppress(OSError), open(f"/proc/{pid}/smaps_rollup") as file:
        return sum(int(line.split()[1]) / 1024 for line in file if line.startswith("Private_"))
    return 0.0


def _folders() -> set[Path]:
    """Return the run folders of this user that are there: templates' and kernels'."""
    top = Path("/tmp") / f"autograder-{os.geteuid()}"
    return {path for pattern in ("*", "*/*") for path in top.glob(pattern) if path.is_dir()}


def report(seen: dict[str, Any]) -> str:
    """Return the result as Markdown tables."""
    first, last = seen["first_fifth"], seen["last_fifth"]
    words = {
        "grader_mb": "grader, most memory (MB)",
        "worker_mb": "worker, most memory (MB)",
        "template_mb": "template, its own memory (MB)",
        "kernel_mb": "kernel, its own memory, most (MB)",
        "descriptors": "descriptors of a process, most",
        "processes": "processes at once, most",
        "dead": "dead processes at once, most",
        "folders": "run folders at once, most",
    }
    rows = [[words[name], first[name], last[name]] for name in words]
    told = [
        ["submissions", seen["students"]],
        ["reports", seen["reports"]],
        ["seconds", seen["wall_s"]],
        [f"grader, most memory (MB; goal: below {GRADER_MB})", seen["grader_mb"]],
        [f"worker, most memory (MB; goal: below {GRADER_MB})", seen["worker_mb"]],
        [f"kernel, its own memory, most (MB; goal: below {KERNEL_MB})", seen["kernel_mb"]],
        ["kernel, its own memory, median of all looks (MB)", seen["kernel_median_mb"]],
        ["left afterwards: processes", seen["left"]["processes"]],
        ["left afterwards: run folders", seen["left"]["folders"]],
    ]
    return "\n\n".join(
        [
            f"Run by {seen['user']}; {seen['looks']} looks, in which kernels were met {seen['kernels_seen']} times.",
            table(("", "seen"), told),
            table(("", "first fifth", "last fifth"), rows),
        ]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print tables, or JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=str(__doc__).splitlines()[0])
    parser.add_argument("--lab", default=LABS["lab1"])
    parser.add_argument("--students", type=int, default=STUDENTS, metavar="N")
    parser.add_argument("--jobs", type=int, metavar="N")
    parser.add_argument("--at-once", type=int, metavar="N")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(argv)
    words = [] if given.jobs is None else ["--jobs", str(given.jobs)]
    words += [] if given.at_once is None else ["--at-once", str(given.at_once)]
    with tempfile.TemporaryDirectory(prefix="soak-") as scratch:
        seen = measure(find_course(), Path(scratch), given.lab, given.students, words)
    print(json.dumps(seen, indent=1) if given.json else report(seen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
