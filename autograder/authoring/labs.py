"""`autograder labs make|check|lint`: the students' notebooks and the practice files, made, checked, or looked over together."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from autograder.authoring.practice import is_fresh, make_practice, practice_path
from autograder.authoring.release import labs, make_release, stale
from autograder.errors import AutograderError, UsageError
from autograder.grading.course import lab_names


def main(argv: Sequence[str] | None = None) -> int:
    """Run `make [LAB ...]`, `check` or `lint [LAB ...]`.

    Return 0 when done, fresh or sound, 1 when stale, refused or not sound, 2 for a usage error.
    """
    parser = argparse.ArgumentParser(
        prog="autograder labs",
        description="Make the notebooks that students get, check that they are fresh, look the labs over.",
    )
    parser.add_argument("action", choices=["make", "check", "lint"])
    parser.add_argument("lab", nargs="*", help="which labs to make or to lint (all of them if none is named)")
    parser.add_argument("--course", type=Path, default=Path(), help="the folder that holds solutions/ and labs/")
    given = parser.parse_args(argv)
    course = given.course.resolve()
    try:
        if given.action == "lint":
            return _lint(course, given.lab)
        return _check(course) if given.action == "check" else _make(course, given.lab)
    except UsageError as problem:
        print(problem, file=sys.stderr)
        return 2
    except AutograderError as problem:
        print(problem, file=sys.stderr)
        return 1


def _make(course: Path, names: Sequence[str]) -> int:
    for name in names or labs(course):
        print(f"made {make_release(course, name).relative_to(course)}")
    for path in make_practice(course, names):
        print(f"made {path.name} (practice)")
    return 0


def _check(course: Path) -> int:
    sentences = stale(course)
    for name in lab_names(course):
        if not is_fresh(course, name):
            sentences.append(f"{practice_path(name).name} is stale; run `make labs` and commit it.")
    print("\n".join(sentences) or f"labs/ and the practice files are fresh ({len(labs(course))} labs).")
    return 1 if sentences else 0


def _lint(course: Path, names: Sequence[str]) -> int:
    from autograder.authoring.lint import lint

    sentences = lint(course, names)
    count = len(names or labs(course))
    print("\n".join(sentences) or f"The labs are all of a piece ({count} looked over).")
    return 1 if sentences else 0
