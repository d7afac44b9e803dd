"""otter-grader without containers on the same submissions, in an environment of its own.

Its documented call for that is `otter.api.grade_submission`: one submission after the other, a new kernel for each. One process
calls it for the whole class, so that its own start-up is paid once. It writes no feedback pages; results go into one JSON file for
each student and a table. torch and what the labs import come from this course's environment, everything else from its own.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring.filling import filled, grade_id
from autograder.grading.course import load_lab
from bench.asserts import SET_UP, cells_of
from bench.meter import measured
from bench.stock import AS_IT_COMES, ONE_THREAD, QUIET, with_asserts
from bench.submissions import Submission, material

REQUIREMENTS = Path(__file__).with_name("otter-requirements.txt")
VERSION = re.findall(r"^otter-grader==(.*)$", REQUIREMENTS.read_text(), flags=re.MULTILINE)[0]
CLASS = Path(__file__).with_name("otter_class.py")
TEST = """\
OK_FORMAT = False
from otter.test_files import test_case

name = {name!r}
points = {points}

{set_up}

@test_case()
def test({names}):
{body}
"""


class NoOtter(Exception):
    """otter-grader cannot be installed here; the message says why."""


def environment(folder: Path) -> Path:
    """Return the Python of an environment that holds otter-grader, made if need be; NoOtter when it cannot be."""
    python = folder / "bin" / "python"
    stamp = folder / f"{VERSION}.installed"
    if stamp.exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    for words in (
        (sys.executable, "-m", "venv", str(folder)),
        (str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(REQUIREMENTS)),
    ):
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            raise NoOtter(
                f"otter-grader {VERSION} does not install with Python {sys.version.split()[0]}: {' '.join(last)}"
            )
    packages = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    )
    # Looked at last: torch, numpy and einops are found there, and nothing that otter-grader has brought itself.
    Path(packages.strip(), "course.pth").write_text(sysconfig.get_path("purelib") + "\n")
    stamp.touch()
    return python


def questions_of(course: Path, lab: str) -> dict[str, str]:
    """Return otter's test files of a lab: one for each check, with the same asserts as the stock notebook's cells."""
    cells = cells_of(lab)
    names = defined(material(course, lab).solved.values())
    points = {check.name: check.points for check in load_lab(course, lab).checks}
    return {
        name: TEST.format(
            name=name,
            points=points[name],
            set_up=cells[SET_UP],
            names=", ".join(word for word in names if re.search(rf"\b{word}\b", text)),
            body=textwrap.indent(text, "    "),
        )
        for name, text in cells.items()
        if name != SET_UP
    }


def defined(sources: Sequence[str] | Any) -> tuple[str, ...]:
    """Return the names that students define: functions, classes, values at the left margin."""
    found = [re.findall(r"^(?:class |def )?(\w+)(?=\(|\b\s*=|:)", source, flags=re.MULTILINE) for source in sources]
    return tuple(dict.fromkeys(name for names in found for name in names))


def without_tests(notebook: NotebookNode, lab: str) -> NotebookNode:
    """Return the notebook that students of an otter course have: the tests lie with the grader."""
    tests = cells_of(lab).keys() - {SET_UP}
    return nbformat.from_dict({**notebook, "cells": [cell for cell in notebook.cells if grade_id(cell) not in tests]})


def measure(course: Path, scratch: Path, lab: str, submissions: Sequence[Submission], trial: int) -> dict[str, Any]:
    """Grade a class with otter-grader, in the better of two environments, which `trial` submissions decide; 0: one thread."""
    python = environment(scratch / "otter-environment")
    folder = scratch / "otter" / lab
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "submitted").mkdir(parents=True)
    with zipfile.ZipFile(folder / "autograder.zip", "w") as archive:
        archive.writestr("otter_config.json", json.dumps({"lang": "python"}))
        for name, text in questions_of(course, lab).items():
            archive.writestr(f"tests/{name}.py", text)
    plain = without_tests(with_asserts(course, lab), lab)
    for submission in submissions:
        nbformat.write(filled(plain, submission.cells), folder / "submitted" / f"{submission.student}.ipynb")

    def grade(students: Sequence[Submission], one_thread: bool) -> dict[str, Any]:
        # Its own programs first, as in an environment that was activated.
        path = {
            "PATH": f"{python.parent}:/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": None,
            "VIRTUAL_ENV": str(python.parents[1]),
        }
        given = {**QUIET, **path, **(ONE_THREAD if one_thread else AS_IT_COMES)}
        words = (python, CLASS, folder, *(s.student for s in students))
        cost = measured(words, where=folder, environment=given, timeout_s=1800)
        results = {s.student: json.loads((folder / "results" / f"{s.student}.json").read_text()) for s in students}
        right = [results[s.student]["points"] for s in students if s.kind == "right"]
        start_s = json.loads((folder / "start.json").read_text())["start_s"]
        return {
            "submissions": len(students),
            "wall_s": cost.wall_s,
            "cpu_s": cost.cpu_s,
            "start_s": start_s,
            "each_s": (cost.wall_s - start_s) / len(students),
            "mean_points": sum(r["points"] for r in results.values()) / len(results),
            "mean_points_of_right": sum(right) / len(right) if right else None,
        }

    tried = {word: grade(submissions[:trial], word == "1")["wall_s"] for word in ("as it comes", "1") if trial}
    better = min(tried, key=lambda word: tried[word], default="1")
    return {**grade(submissions, better == "1"), "omp_num_threads": better, "trial_s": tried, "version": VERSION}
