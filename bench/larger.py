"""Larger classes of one lab: graded up to a size, and simulated beyond it, from what was measured of single submissions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench import ratios
from bench.growth import Times, table
from bench.machine import processors
from bench.ours import DEFAULT, ONE_WORKER, OwnCourse
from bench.submissions import class_of

WORKERS = tuple(range(1, 9))
CLASSES = (10, 100, 1_000, 10_000)


def measure(
    course: Path, scratch: Path, lab: str, largest: int, stages: dict[str, Any], startup: dict[str, Any]
) -> dict[str, Any]:
    """Grade classes up to a size, and simulate those that are too large, or have more workers than this machine."""
    own, measured_runs, times = OwnCourse(scratch / "larger", course, lab), [], times_of(stages, startup)
    for size in (size for size in CLASSES if size <= largest):
        for way in (ONE_WORKER, DEFAULT) if size == 100 else (DEFAULT,):
            run = own.grade(class_of(course, lab, size), way)
            workers = way.workers or min(processors(), size)
            measured_runs.append(
                {
                    **run,
                    "workers": workers,
                    "processors": processors(),
                    "per_minute": ratios.per_minute(run),
                    "simulated": False,
                }
            )
    return {
        "times": vars(times),
        "measured": measured_runs,
        "same_machine": table(CLASSES, (1, processors()), times, processors()),
        "simulated": table(CLASSES, WORKERS, times, None),
    }


def times_of(stages: dict[str, Any], startup: dict[str, Any]) -> Times:
    """Return what the simulation replays: how long each submission takes in a worker that always has others in flight.

    Such a worker is never idle, so a submission takes its CPU time; of it, each gets the share that it had of the wall time
    when it was alone. A worker is ready so long after the command that the first result comes when it was seen to come.
    """
    each, walls_s = stages["each_cpu_s"], stages["walls_s"]
    in_worker_s = sum(value for name, value in each.items() if name != "record")
    scale = in_worker_s * len(walls_s) / sum(walls_s)
    start_s = startup["help_s"]  # until the command has begun to do something
    ready_s = startup["first_result_s"] - start_s - sum(walls_s) / len(walls_s)
    return Times([round(scale * wall_s, 6) for wall_s in walls_s], stages["record_wall_s"], start_s, max(ready_s, 0.0))
