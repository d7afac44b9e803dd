"""The limit: what a submission's own cells and the probe cost in a process that has everything imported and does nothing else.

`python -m bench.limit LAB STUDENTS` prints JSON. No kernel, no box, no fork, no message, no verdict: nobody who runs the student's
cells and asks the checks' scenarios can be below it. The submissions are our own, so they may run here.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import nbformat
import numpy as np
import torch

from autograder.authoring.filling import filled
from autograder.grading.course import find_course, load_course_lab
from autograder.grading.grade import prepare
from autograder.grading.judge import Judge
from autograder.grading.run import Item, kernel_seed
from autograder.probe.run import run
from bench.submissions import SEED, Submission, class_of

WARM_UP = 3  # submissions that run first and are not counted


def main(lab: str, students: int) -> dict[str, Any]:
    """Return the CPU seconds of the cells and of the probe, per submission."""
    course = find_course()
    loaded = load_course_lab(course, lab)
    judge = Judge(loaded.lab, SEED)
    submissions = class_of(course, lab, students)
    played = [prepare(content(loaded.release, s), loaded, judge).items for s in submissions]
    for items in played[:WARM_UP]:
        play(items, judge)
    costs = [play(items, judge) for items in played]
    return {
        "submissions": students,
        "cells_cpu_s": sum(cells_s for cells_s, _ in costs) / students,
        "probe_cpu_s": sum(probe_s for _, probe_s in costs) / students,
    }


def content(release: nbformat.NotebookNode, submission: Submission) -> bytes:
    """Return the bytes that a student hands in."""
    return str(nbformat.writes(filled(release, submission.cells))).encode()


def play(items: Sequence[Item], judge: Judge) -> tuple[float, float]:
    """Run a submission's cells and its checks' scenarios; return the CPU seconds of both."""
    seed = kernel_seed(judge.seed)
    random.seed(seed), np.random.seed(seed), torch.manual_seed(seed)
    names: dict[str, Any] = {"__name__": "__main__"}
    asked: set[str] = set()
    cells_s = probe_s = 0.0
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for item in items:
            if item.check is not None:
                check = judge.lab.check(item.check)
                question = judge.asking.name(check)
                if question in asked:  # what checks ask alike is asked once, as in a kernel
                    continue
                asked.add(question)
                scenarios, looks = judge.scenarios(check), judge.asking.looks(check)
                began_s = time.process_time()
                run(scenarios, names, looks=looks)
                probe_s += time.process_time() - began_s
            elif not item.skip:
                began_s = time.process_time()
                with contextlib.suppress(Exception):  # as a notebook goes on behind a cell that failed
                    exec(compile(item.source, "<cell>", "exec"), names)
                cells_s += time.process_time() - began_s
    return cells_s, probe_s


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]))))
