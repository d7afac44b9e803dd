"""Larger classes of one lab: graded up to a size, and simulated beyond it, from what was measured of single submissions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autograder.grading.pool import Crew
from autograder.sandbox.processors import processors
from bench import ratios
from bench.growth import Times, table
from bench.ours import DEFAULT, WARM_ONE, OwnCourse, Way
from bench.submissions import class_of

WORKERS = tuple(range(1, 9))
CLASSES = (10, 100, 1_000, 10_000)
ALL = Way("warm, a worker for each processor", True, processors(), None)
COMPARED = 100  # the size of class that is graded in several ways
# The stages of `bench.stages` by where they are: in a kernel and what speaks with it, or in the worker's own thread.
PLAY, JUDGE = ("cells", "probe", "kernel", "messages"), ("graft", "judge")


def measure(
    course: Path,
    scratch: Path,
    lab: str,
    largest: int,
    stages: dict[str, Any],
    startup: dict[str, Any],
    known: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Grade classes up to a size, and simulate those that are too large, or have more workers than this machine.

    `known` is what grading one of these classes has cost in this run already.
    """
    own, measured_runs, times = OwnCourse(scratch / "larger", course, lab), [], times_of(stages, startup)
    for size in (size for size in CLASSES if size <= largest):
        for way in (WARM_ONE, DEFAULT, ALL) if size == COMPARED else (DEFAULT,):
            graded = known is not None and (known["submissions"], known["way"]) == (size, way.title)
            run = known if known is not None and graded else own.grade(class_of(course, lab, size), way)
            crew = Crew.fitting(size, processors(), way.workers, way.at_once)
            measured_runs.append(
                {
                    **run,
                    "workers": crew.workers,
                    "at_once": crew.at_once,
                    "processors": processors(),
                    "per_minute": ratios.per_minute(run),
                    "simulated": False,
                }
            )
    return {
        "times": vars(times),
        "measured": measured_runs,
        "same_machine": [
            row
            for run in measured_runs
            for row in table([run["submissions"]], [run["workers"]], times, processors(), run["at_once"])
        ],
        "simulated": table(CLASSES, WORKERS, times, None),
    }


def times_of(stages: dict[str, Any], startup: dict[str, Any]) -> Times:
    """Return what the simulation replays: how long each submission plays and is judged where something else always waits.

    Then nothing is idle, so it takes its CPU time; of it, each submission gets the share that it had of the wall time when it
    was alone. A worker is ready so long after the command that the first result comes when it was seen to come.
    """
    each = stages["each_cpu_s"]
    play_walls_s, judge_walls_s = stages["play_walls_s"], stages["judge_walls_s"]
    start_s = startup["help_s"]  # until the command has begun to do something
    ready_s = startup["first_result_s"] - start_s - (sum(play_walls_s) + sum(judge_walls_s)) / len(play_walls_s)
    return Times(
        _shared(sum(each[name] for name in PLAY), play_walls_s),
        _shared(sum(each[name] for name in JUDGE), judge_walls_s),
        stages["record_wall_s"],
        start_s,
        max(ready_s, 0.0),
    )


def _shared(mean_s: float, walls_s: Sequence[float]) -> list[float]:
    """Return times of the same shares as the wall times, with the mean that is asked for."""
    return [round(mean_s * len(walls_s) * wall_s / sum(walls_s), 6) for wall_s in walls_s]
