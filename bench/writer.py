"""How fast the one writer of a class run records: `python -m bench.writer [N]` prints its numbers as JSON, in one line.

A few submissions of lab 1 are graded by `autograder grade`; what came of them is then recorded for N students, in batches as in a
class run: entries in a gradebook in SQLite, graded notebooks, feedback pages. Then all once more, over what is there. For
comparison a few go through nbgrader's own two converters, one student after the other. Nothing is graded while the clock runs.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import nbformat
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets.config.loader import PyFileConfigLoader

from autograder.authoring.filling import is_answer
from autograder.commands.grade_class import BATCH
from autograder.grading.course import find_course
from autograder.grading.grade import Graded
from autograder.grading.report import Report
from autograder.plugins.handover import REPORT_KEY, handed_over
from autograder.plugins.record import Recorder
from bench.ours import OwnCourse
from bench.submissions import LABS, Submission, class_of

PATTERNS = 8  # submissions that are really graded; the others are these again, under other names
STOCK = 8  # students that nbgrader's own converters record


class Replay(NbGraderPreprocessor):
    """In the place of Execute in nbgrader's own Autograde: the graded notebook."""

    results: ClassVar[Mapping[str, Graded]] = {}

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Return it."""
        found = self.results[resources["nbgrader"]["student"]]
        return handed_over(found.notebook, found.report), resources


def measure(course: Path, scratch: Path, students: int) -> dict[str, Any]:
    """Record `students` submissions; return submissions and grades per second, and milliseconds of CPU for each submission."""
    own = OwnCourse(scratch / "writer", course, LABS["lab1"])
    patterns = class_of(course, own.lab, min(PATTERNS, students))
    own.grade(patterns)
    graded = [_graded(own, submission.student) for submission in patterns]
    everyone = [
        dataclasses.replace(patterns[number % len(patterns)], student=f"s{number:05d}") for number in range(students)
    ]
    own.hand_in(everyone)
    recorder = Recorder(own.folder, own.lab)
    prepare_s = _timed(recorder.prepare)["wall_s"]
    results = _results(everyone, graded)
    first = _timed(lambda: _record(recorder, results))
    again = _timed(lambda: _record(recorder, results))
    grades = sum(bool(cell.metadata.get("nbgrader", {}).get("grade")) for cell in own.release.cells)
    few = dict(results[:STOCK])
    stock = _timed(lambda: _by_nbgrader(own, few))
    recorder.close()
    return {
        "lab": own.lab,
        "submissions": students,
        "batch": BATCH,
        "grades_of_a_submission": grades,
        "prepare_s": prepare_s,
        "recorded_submissions_per_s": students / first["wall_s"],
        "recorded_grades_per_s": grades * students / first["wall_s"],
        "cpu_ms_of_a_submission": 1000 * first["cpu_s"] / students,
        "again_submissions_per_s": students / again["wall_s"],
        "again_cpu_ms_of_a_submission": 1000 * again["cpu_s"] / students,
        "nbgrader_submissions_per_s": len(few) / stock["wall_s"],
        "nbgrader_cpu_ms_of_a_submission": 1000 * stock["cpu_s"] / len(few),
    }


def _graded(own: OwnCourse, student: str) -> Graded:
    path = own.folder / "autograded" / student / own.lab / f"{own.lab}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    return Graded(Report.from_json(notebook.metadata.pop(REPORT_KEY)), notebook)


def _results(everyone: Sequence[Submission], graded: Sequence[Graded]) -> list[tuple[str, Graded]]:
    made = []
    for number, submission in enumerate(everyone):
        pattern = graded[number % len(graded)]
        report = dataclasses.replace(pattern.report, student=submission.student)
        notebook = copy.deepcopy(pattern.notebook)
        for cell in filter(is_answer, notebook.cells):
            cell.source += f"\n# {submission.student} again"  # no text is met twice
        made.append((submission.student, Graded(report, notebook)))
    return made


def _record(recorder: Recorder, results: Sequence[tuple[str, Graded]]) -> None:
    for first in range(0, len(results), BATCH):
        recorder.record(dict(results[first : first + BATCH]))


def _by_nbgrader(own: OwnCourse, results: Mapping[str, Graded]) -> None:
    config = PyFileConfigLoader("nbgrader_config.py", path=str(own.folder)).load_config()
    steps = config.Autograde.autograde_preprocessors
    config.Autograde.autograde_preprocessors = [Replay if str(step).endswith(".Execute") else step for step in steps]
    Replay.results = results
    coursedir = CourseDirectory(config=config, assignment_id=own.lab)
    for student in results:
        coursedir.student_id = student
        for converter in (Autograde, GenerateFeedback):
            made = converter(coursedir=coursedir, config=config)
            made.force = True
            made.start()


def _timed(work: Callable[[], None]) -> dict[str, float]:
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    work()
    return {"cpu_s": time.process_time() - cpu_s, "wall_s": time.perf_counter() - wall_s}


def main(argv: Sequence[str] | None = None) -> int:
    """Print the numbers."""
    parser = argparse.ArgumentParser(description="Measure how fast results are recorded.")
    parser.add_argument("students", nargs="?", type=int, default=240, metavar="N", help="how many (%(default)d)")
    warnings.filterwarnings("ignore")
    os.environ.pop("GRADEBOOK_URL", None)  # not into anybody's real gradebook
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        print(json.dumps(measure(find_course(), Path(scratch), parser.parse_args(argv).students)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
