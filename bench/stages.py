"""Where the time of one submission goes: each stage of the grader alone, in one process, one submission after the other.

`python -m bench.stages LAB STUDENTS WHAT` does one thing and prints JSON about it; its caller measures the whole process tree.

    template    the template is made, and nothing else
    kernels     so many kernels are started, say that they are ready, and end; no cell runs
    grade       so many submissions are grafted, played and judged
    record      the same, and what came of it is recorded; only that counts

`measure` puts these together: what the kernels used is what the tree used without this process.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from bench.meter import measured
from bench.ours import ENVIRONMENT, OwnCourse
from bench.submissions import SEED, Submission


def template(lab: str, students: int) -> dict[str, Any]:
    """Make what every worker makes once: the template, and what the reference answers."""
    return _opened(lab)[1]


def kernels(lab: str, students: int) -> dict[str, Any]:
    """Start kernels and end them."""
    from autograder.grading.run import playing
    from autograder.sandbox.policy import Limits

    (_, judge), found = _opened(lab)
    began_s = time.process_time()
    for _ in range(students):
        asyncio.run(playing((), judge, Limits()))
    return {**found, "play_cpu_s": time.process_time() - began_s}


def grade(lab: str, students: int) -> dict[str, Any]:
    """Grade submissions one after the other; the seconds of this process are named by what they were for."""
    return _graded(lab, students)[0]


def record(lab: str, students: int) -> dict[str, Any]:
    """Grade submissions, and record them in batches as `autograder grade` does; only the recording counts."""
    from autograder.commands.grade_class import BATCH
    from autograder.plugins.record import Recorder

    graded = _graded(lab, students)[1]
    recorder = Recorder(Path.cwd(), lab)
    recorder.prepare()
    names = list(graded)
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    for start in range(0, len(names), BATCH):
        recorder.record({name: graded[name] for name in names[start : start + BATCH]})
    return {"record_cpu_s": time.process_time() - began_cpu_s, "record_wall_s": time.perf_counter() - began_s}


def _graded(lab: str, students: int) -> tuple[dict[str, Any], dict[str, Any]]:
    from autograder.grading.grade import conclude, prepare
    from autograder.grading.run import playing
    from autograder.sandbox.policy import Limits

    (loaded, judge), found = _opened(lab)
    own = {"graft_cpu_s": 0.0, "play_cpu_s": 0.0, "judge_cpu_s": 0.0, "text_cpu_s": 0.0}
    play_walls_s, judge_walls_s, results = [], [], {}
    for path in sorted(Path.cwd().glob(f"submitted/*/{lab}/{lab}.ipynb"))[:students]:
        student, raw = path.parts[-3], path.read_bytes()
        began_s = time.perf_counter()
        marks = [time.process_time()]
        prepared = prepare(raw, loaded, judge)
        marks.append(time.process_time())
        play_began_s = time.perf_counter()
        played = asyncio.run(playing(prepared.items, judge, Limits()))
        play_walls_s.append(time.perf_counter() - play_began_s)
        marks.append(time.process_time())
        results[student] = graded = conclude(prepared, played, judge, student=student, sandboxed=True)
        marks.append(time.process_time())
        graded.report.text(), json.dumps(graded.notebook)
        marks.append(time.process_time())
        judge_walls_s.append(time.perf_counter() - began_s - play_walls_s[-1])
        for name, before_s, after_s in zip(own, marks, marks[1:], strict=False):
            own[name] += after_s - before_s
    return {**found, **own, "play_walls_s": play_walls_s, "judge_walls_s": judge_walls_s}, results


def _opened(lab: str) -> tuple[tuple[Any, Any], dict[str, Any]]:
    from autograder.grading.course import load_course_lab
    from autograder.grading.judge import Judge
    from autograder.kernel import launch

    loaded = load_course_lab(Path.cwd(), lab)
    judge = Judge(loaded.lab, SEED)
    began_s = time.process_time()
    judge.get_ready()
    answers_s = time.process_time() - began_s
    launch.template()
    return (loaded, judge), {"answers_cpu_s": answers_s}


STAGES = {"template": template, "kernels": kernels, "grade": grade, "record": record}


def measure(
    course: Path, scratch: Path, lab: str, submissions: Sequence[Submission], limit: dict[str, Any]
) -> dict[str, Any]:
    """Return the CPU seconds of a submission by what they are for, and the wall seconds of each when it is alone."""
    own = OwnCourse(scratch / "stages" / lab, course, lab)
    own.hand_in(submissions)
    count = len(submissions)

    def stage(name: str) -> tuple[float, dict[str, Any]]:
        words = (sys.executable, "-m", "bench.stages", lab, str(count), name)
        cost = measured(words, where=own.folder, environment={**ENVIRONMENT, "PYTHONPATH": str(course)})
        told: dict[str, Any] = json.loads(cost.text.strip().splitlines()[-1])
        return cost.cpu_s - told["self_cpu_s"], told

    template_s, at_start = stage("template")
    empty_s, empty = stage("kernels")
    full_s, full = stage("grade")
    recorded = stage("record")[1]
    kernel_s, client_s = (empty_s - template_s) / count, empty["play_cpu_s"] / count
    more_s = (full_s - empty_s) / count - limit["cells_cpu_s"] - limit["probe_cpu_s"]
    return {
        "submissions": count,
        "start_cpu_s": {"template": template_s, "grader": at_start["self_cpu_s"], "answers": at_start["answers_cpu_s"]},
        "each_cpu_s": {
            "cells": limit["cells_cpu_s"],
            "probe": limit["probe_cpu_s"],
            "kernel": kernel_s + client_s,  # a kernel that starts, says so, and ends
            "messages": more_s + full["play_cpu_s"] / count - client_s,  # whatever else playing costs, on both sides
            "graft": (full["graft_cpu_s"] + full["text_cpu_s"]) / count,
            "judge": full["judge_cpu_s"] / count,
            "record": recorded["record_cpu_s"] / count,
        },
        "record_wall_s": recorded["record_wall_s"] / count,
        "play_walls_s": full["play_walls_s"],
        "judge_walls_s": full["judge_walls_s"],  # with grafting before, and writing afterwards
    }


if __name__ == "__main__":
    told = STAGES[sys.argv[3]](sys.argv[1], int(sys.argv[2]))
    print(json.dumps({**told, "self_cpu_s": time.process_time()}))
