"""What piles up in a long run of 2,000 submissions: `python -m bench.soak [--students N] [--jobs N] [--at-once N]`.

A whole run writes bench/soak.json and, from it, a section of docs/benchmarks.md; another one _build/bench/soak.json.

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
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from autograder.grading.course import find_course
from autograder.sandbox.bwrap import is_root
from bench import tables
from bench.__main__ import RESULTS, SCRATCH, SOAK, write_page
from bench.machine import about
from bench.meter import adopt_orphans
from bench.ours import AUTOGRADER, ENVIRONMENT, OwnCourse
from bench.submissions import LABS, SEED, class_of

STUDENTS = 2000
LOOK_S = 0.5
FIFTH = 5
GRADER_MB, KERNEL_MB = 500, 60  # the goals
MORE = 5  # what a few looks more or less may see
# What must not pile up: by its name in a part of the run.
PILES = {"descriptors": "descriptors of a process", "dead": "dead processes at once", "folders": "run folders at once"}
TEMPLATE = "autograder.template.process"


@dataclass
class Look:
    """What was seen at one moment."""

    reports: int
    grader_mb: float = 0.0
    workers_mb: list[float] = field(default_factory=list)
    templates_mb: list[float] = field(default_factory=list)
    kernels_mb: list[float] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)  # of the grader, each worker and each template
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
        "first_fifth": in_part(looks, students, 1),
        "last_fifth": in_part(looks, students, FIFTH),
        "left": {"processes": len(left), "folders": len(_abandoned(_folders() - before))},
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
                held_mb = sum(_private_mb(process.pid) for process in kernel)
                look.kernels_mb += [held_mb] * (held_mb > 0)  # nothing: it has just ended, or may not be looked at
            look.descriptors.append(template.num_fds())
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


def in_part(looks: Sequence[Look], students: int, fifth: int) -> dict[str, float]:
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


def _abandoned(folders: Iterable[Path]) -> list[Path]:
    """Return the folders that no process holds: another grader's, which runs beside this one, is held by its lock."""
    held = set()
    with suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            held |= {int(word.rpartition(":")[2]) for word in line.split() if word.count(":") == 2}
    found = []
    for path in folders:
        with suppress(OSError):
            if path.stat().st_ino not in held:
                found.append(path)
    return found


def goals(seen: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return each goal with what was seen; what does not pile up is the same in the first fifth of the run and in the last."""
    first, last, left = seen["first_fifth"], seen["last_fifth"], seen["left"]
    kernel_mb = seen["kernel_mb"] if seen["kernels_seen"] else None
    rows: list[tuple[str, float | None, float]] = [
        ("submissions without a report", seen["students"] - seen["reports"], 0),
        ("MB of the grader at its peak", seen["grader_mb"], GRADER_MB),
        ("MB of a worker at its peak", seen["worker_mb"], GRADER_MB),
        ("MB that a kernel has alone, the largest seen", kernel_mb, KERNEL_MB),
        *((f"more {word}, last fifth against first", last[name] - first[name], MORE) for name, word in PILES.items()),
        ("processes left behind", left["processes"], 0),
        ("run folders left behind", left["folders"], 0),
    ]
    return [
        {
            "what": what,
            "goal": f"at most {most}",
            "reached": reached,
            "met": None if reached is None else reached <= most,
        }
        for what, reached, most in rows
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print tables, write JSON; a whole run is also put on the page of the benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=str(__doc__).splitlines()[0])
    parser.add_argument("--lab", default=LABS["lab1"])
    parser.add_argument("--students", type=int, default=STUDENTS, metavar="N")
    parser.add_argument("--jobs", type=int, metavar="N")
    parser.add_argument("--at-once", type=int, metavar="N")
    given = parser.parse_args(argv)
    words = [] if given.jobs is None else ["--jobs", str(given.jobs)]
    words += [] if given.at_once is None else ["--at-once", str(given.at_once)]
    with tempfile.TemporaryDirectory(prefix="soak-") as scratch:
        seen = measure(find_course(), Path(scratch), given.lab, given.students, words)
    found = {"about": "Written by `make bench-soak`; see bench/soak.py.", **about(), **seen, "goals": goals(seen)}
    whole = given.students == STUDENTS and given.lab == LABS["lab1"] and not words
    out = SOAK if whole else SCRATCH / "soak.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{tables.goals(found)}\n\n{tables.soak(found)}\n\n{out} was written.")
    if whole:
        write_page(json.loads(RESULTS.read_text(encoding="utf-8")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
