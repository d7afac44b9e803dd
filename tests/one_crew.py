"""Grade some submissions with one crew and print their reports, as JSON (started by tests/demo/test_rungs.py)."""

import base64
import json
import os
import sys
from pathlib import Path

from autograder.grading.pool import Crew, grade_all, processes
from autograder.grading.version import version_of
from autograder.grading.work import Work
from autograder.kernel import launch
from autograder.sandbox.policy import Limits

ROOT = Path(__file__).resolve().parents[1]

if __name__ == "__main__":  # its workers import this file
    order = json.load(sys.stdin)
    os.environ[launch.VARIABLE] = order["kernels"]
    lab, version = order["lab"], version_of(ROOT, order["lab"])

    def work_of(student: str) -> Work:
        raw = base64.b64decode(order["submissions"][student])
        return Work(lab, version, student, raw, "", order["seed"], Limits(), True)

    crew = Crew(order["workers"], order["at_once"], order["workers"] * order["at_once"] / 2)
    done = list(grade_all(list(order["submissions"]), work_of, lambda crew: processes(crew.workers, ROOT), crew))
    print(json.dumps({one.student: one.report.text() if one.report else f"trouble: {one.trouble}" for one in done}))
