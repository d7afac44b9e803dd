"""Grade many submissions on an executor: pure work items out, results in as they are done.

A work item is data and its result is data: no database, no course folder of the class, no shared state. Any
`concurrent.futures.Executor` will do; the default is a pool of processes. A submission whose sandbox failed is reported as
ungraded, never as a zero, and does not stop the others.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.errors import AutograderError
from autograder.grading.course import CourseLab, load_course_lab
from autograder.grading.grade import Graded, grade_notebook
from autograder.grading.judge import Judge
from autograder.grading.report import Report
from autograder.grading.submission import UnreadableSubmission
from autograder.sandbox.policy import Limits


@dataclass(frozen=True)
class Work:
    """One submission to grade: its bytes, or the sentence that says why there are none."""

    course: str
    lab: str
    student: str
    raw: bytes | None
    unreadable: str
    seed: int
    limits: Limits
    sandboxed: bool


@dataclass(frozen=True)
class Done:
    """What came of it: a report and the graded notebook, or `trouble`, our own failure."""

    student: str
    report: Report | None
    notebook: NotebookNode | None
    trouble: str = ""
    broken: bool = False  # the worker died, perhaps with another submission's work; it may be tried again

    @property
    def graded(self) -> Graded | None:
        """Report and notebook together, if there are any."""
        if self.report is None or self.notebook is None:
            return None
        return Graded(self.report, self.notebook)


def grade_many(works: Iterable[Work], executor: Executor) -> Iterator[Done]:
    """Yield each submission's result as soon as it is there, in no certain order."""
    futures = {executor.submit(_grade, work): work.student for work in works}
    for future in as_completed(futures):
        student = futures[future]
        try:
            report, notebook, trouble = future.result()
        except Exception as error:  # the worker died: ours, whatever it was
            yield Done(student, None, None, f"the grader's own process failed: {error!r}", broken=True)
            continue
        if trouble:
            yield Done(student, None, None, trouble)
        else:
            yield Done(student, Report.from_json(json.loads(report)), nbformat.from_dict(json.loads(notebook)))  # type: ignore[no-untyped-call]


def processes(jobs: int) -> ProcessPoolExecutor:
    """Return the default executor: fresh processes, each with one thread of arithmetic."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads of several workers would spin against each other
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))


def _grade(work: Work) -> tuple[str, str, str]:
    try:
        lab, judge = _bench(work.course, work.lab, work.seed)
        raw = UnreadableSubmission(work.unreadable) if work.raw is None else work.raw
        graded = grade_notebook(
            raw,
            lab,
            seed=work.seed,
            limits=work.limits,
            sandboxed=work.sandboxed,
            student=work.student,
            judge=judge,
        )
    except AutograderError as error:
        return "", "", str(error)
    return graded.report.text(), json.dumps(graded.notebook), ""


@lru_cache(maxsize=4)
def _bench(course: str, lab: str, seed: int) -> tuple[CourseLab, Judge]:
    loaded = load_course_lab(Path(course), lab)
    return loaded, Judge(loaded.lab, seed)
