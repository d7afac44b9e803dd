"""This course's grader on the same submissions, by its own command: `autograder grade LAB`, cold or warm, one or many in flight."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring.filling import filled
from autograder.authoring.release import make_source
from bench.meter import Cost, measured
from bench.submissions import SEED, Submission

AUTOGRADER = Path(sys.executable).parent / "autograder"
SOME = 40  # submissions for the ways that use one worker
ENVIRONMENT: dict[str, str | None] = {
    "PYTHONWARNINGS": "ignore",
    "NORMALIZATION_COURSE": None,
    "AUTOGRADER_KERNELS": None,
    "GRADEBOOK_URL": None,  # not into anybody's real gradebook
    "OMP_NUM_THREADS": None,  # it sets one thread itself
}
COLD = {"AUTOGRADER_KERNELS": "cold"}


@dataclass(frozen=True)
class Way:
    """A way to run it: warm or cold kernels, how many workers, how many notebooks at once in each (None: its own default)."""

    title: str
    warm: bool
    workers: int | None
    at_once: int | None

    @property
    def words(self) -> tuple[str, ...]:
        """The options of the command."""
        jobs = () if self.workers is None else ("--jobs", str(self.workers))
        return jobs if self.at_once is None else (*jobs, "--at-once", str(self.at_once))


COLD_ONE = Way("cold, 1 in flight", False, 1, 1)
WARM_ONE = Way("warm, 1 in flight", True, 1, 1)
ONE_WORKER = Way("warm, 1 worker", True, 1, None)
DEFAULT = Way("warm, as it comes", True, None, None)
WAYS = (COLD_ONE, WARM_ONE, ONE_WORKER, DEFAULT)


class OwnCourse:
    """A copy of the course in a folder of its own, with a class that has handed in."""

    def __init__(self, folder: Path, course: Path, lab: str) -> None:
        self.folder, self.lab = folder, lab
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy(course / "nbgrader_config.py", folder)
        shutil.copytree(course / "solutions", folder / "solutions", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(course / "labs" / lab, folder / "labs" / lab)
        make_source(folder, lab)
        self.release: NotebookNode = nbformat.read(folder / "labs" / lab / f"{lab}.ipynb", as_version=4)

    def hand_in(self, submissions: Sequence[Submission]) -> None:
        """Replace what is handed in, and forget what was graded.

        It is put aside and not deleted: where thousands of files have just been deleted, Linux' ext4 is slow to make new ones.
        """
        earlier = self.folder / "earlier"
        aside = earlier / str(len(list(earlier.glob("*"))))
        aside.mkdir(parents=True)
        names = [self.folder / name for name in ("submitted", "autograded", "feedback", "reports")]
        for path in (*names, *self.folder.glob("gradebook.db*")):
            if path.exists():
                path.rename(aside / path.name)
        for submission in submissions:
            folder = self.folder / "submitted" / submission.student / self.lab
            folder.mkdir(parents=True)
            nbformat.write(filled(self.release, submission.cells), folder / f"{self.lab}.ipynb")

    def run(self, way: Way) -> Cost:
        """Grade everyone who has handed in."""
        words = (AUTOGRADER, "grade", self.lab, "--seed", str(SEED), "--json", *way.words)
        given = {**ENVIRONMENT, **({} if way.warm else COLD)}
        return measured(words, where=self.folder, environment=given, timeout_s=1800)

    def grade(self, submissions: Sequence[Submission], way: Way = DEFAULT) -> dict[str, Any]:
        """Grade a class; return the cost and what came of it."""
        self.hand_in(submissions)
        cost = self.run(way)
        points = self.points()
        right = [points[s.student] for s in submissions if s.kind == "right"]
        pages = len(list(self.folder.glob("feedback/*/*/*.html")))
        assert len(points) == pages == len(submissions), (
            f"{len(points)} reports and {pages} pages for {len(submissions)}"
        )
        return {
            "way": way.title,
            "submissions": len(submissions),
            "wall_s": cost.wall_s,
            "cpu_s": cost.cpu_s,
            "mean_points": sum(points.values()) / len(points),
            "mean_points_of_right": sum(right) / len(right) if right else None,
        }

    def points(self) -> dict[str, float]:
        """Return the points of each report."""
        found = self.folder.glob(f"reports/{self.lab}/*.json")
        return {path.stem: float(json.loads(path.read_text())["points"]) for path in found}

    def first_result_s(self, submissions: Sequence[Submission]) -> float:
        """Return how long after the command the first report of a class lies there, on the wall."""
        self.hand_in(submissions)
        reports = self.folder / "reports" / self.lab
        variables = {k: v for k, v in {**os.environ, **ENVIRONMENT}.items() if v is not None}
        began_s = time.perf_counter()
        process = subprocess.Popen(
            [str(AUTOGRADER), "grade", self.lab, "--seed", str(SEED), "--json"],
            cwd=self.folder, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while process.poll() is None and not any(reports.glob("*.json")):
            time.sleep(0.01)
        took_s = time.perf_counter() - began_s
        process.wait()
        assert process.returncode == 0, f"autograder grade ended with {process.returncode}"
        return took_s


def measure(
    course: Path,
    scratch: Path,
    lab: str,
    submissions: Sequence[Submission],
    few: int,
    large: Sequence[Submission] = (),
) -> dict[str, Any]:
    """Grade a class in each way; the slow ways get the first `few` submissions of it, and the fast one both, and `large`."""
    own = OwnCourse(scratch / "ours" / lab, course, lab)
    some = min(SOME, len(submissions))
    runs = [
        own.grade(submissions[:few], COLD_ONE),
        own.grade(submissions[:some], WARM_ONE),
        own.grade(submissions[:some], ONE_WORKER),
        own.grade(submissions[:few], DEFAULT),
        own.grade(submissions, DEFAULT),
    ]
    found = {"runs": runs, "same": runs[3], "whole": runs[4]}
    if large:
        runs.append(own.grade(large, DEFAULT))
        found["large"] = runs[5]
    return found
