"""`autograder labs make|check`: the students' notebooks and the practice files, made or checked together."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from autograder.authoring.practice import is_fresh, make_practice, practice_path
from autograder.authoring.release import labs, make_release, stale
from autograder.errors import AutograderError
from autograder.grading.course import lab_names


def main(argv: Sequence[str] | None = None) -> int:
    """Run `make [LAB ...]` or `check`. Return 0 when done or fresh, 1 when stale or refused, 2 for a usage error."""
    parser = argparse.ArgumentParser(prog="autograder labs", description="Make the notebooks that students get.")
    parser.add_argument("action", choices=["make", "check"])
    parser.add_argument("lab", nargs="*", help="which labs to make (all of them if none is named)")
    parser.add_argument("--course", type=Path, default=Path(), help="the folder that holds solutions/ and labs/")
    given = parser.parse_args(argv)
    try:
        return _check(given.course.resolve()) if given.action == "check" else _make(given.course.resolve(), given.lab)
    except AutograderError as problem:
        print(problem, file=sys.stderr)
        return 1


def _make(course: Path, names: Sequence[str]) -> int:
    for name in names or labs(course):
        print(f"made {make_release(course, name).relative_to(course)}")
    for path in make_practice(course):
        print(f"made {path.name} (practice)")
    return 0


def _check(course: Path) -> int:
    sentences = stale(course)
    for name in lab_names(course):
        if not is_fresh(course, name):
            sentences.append(f"{practice_path(name).name} is stale; run `make labs` and commit it.")
    print("\n".join(sentences) or f"labs/ and the practice files are fresh ({len(labs(course))} labs).")
    return 1 if sentences else 0
