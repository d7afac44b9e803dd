"""What decides a grade beside the submission, as one digest: so that two machines, or two days, can be told to agree."""

from __future__ import annotations

import hashlib
from pathlib import Path

import autograder


def version_of(course: Path, lab: str) -> str:
    """Return a digest of all that decides a grade: the released notebook, the lab's answers and checks, the grader."""
    digest = hashlib.sha256()
    package = Path(autograder.__file__).resolve().parent
    for top in (course / "labs" / lab, course / "solutions" / lab, course / "solutions" / "reference", package):
        for path in sorted([*top.rglob("*.py"), *top.rglob("*.ipynb")]):
            digest.update(f"{path.relative_to(top)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def other_version(lab: str, course: Path, ours: str, wanted: str) -> str:
    """Return the sentence about a course whose version of a lab is not the one that a class is graded with; nothing if it is."""
    if ours == wanted:
        return ""
    return (
        f"it has another version of {lab} or of the grader in {course} ({ours[:12]}) than the class is graded with "
        f"({wanted[:12]}). Put the same course on every machine, and run this again."
    )
