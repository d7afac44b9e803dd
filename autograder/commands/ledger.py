"""What of a class is graded already: so that a run that was stopped goes on, and unchanged work is not run again.

One file per lab, `reports/LAB.ledger.json`, rewritten whole whenever a batch stands in the gradebook. It decides nothing about
points: a submission keeps its grade only when its bytes, the lab and the grader's own code, the limits and the sandbox are those
of its report.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from autograder.grading.version import version_of
from autograder.grading.work import Work


@dataclass(frozen=True)
class Entry:
    """What a submission's report rests on."""

    content: str  # SHA-256 of the submitted bytes, or of the sentence that says why there are none
    version: str
    limits: str
    seed: int


@dataclass
class Ledger:
    """The entries of one lab by student, and the seed of the last run while that is not finished."""

    path: Path
    version: str
    entries: dict[str, Entry] = field(default_factory=dict)
    open_seed: int | None = None

    def is_unchanged(self, work: Work, seed: int | None) -> bool:
        """Say whether a submission has its grade: nothing changed, and no other seed is asked for."""
        entry = self.entries.get(work.student)
        return entry is not None and seed in (None, entry.seed) and entry == self.entry_of(work, entry.seed)

    def note(self, student: str, entry: Entry) -> None:
        """Note that a submission's grade is recorded; the entry was made when its bytes were read to be graded."""
        self.entries[student] = entry

    def save(self) -> None:
        """Write the file; what was there is replaced in one step, so that a run may be stopped at any time."""
        text = {
            "open_seed": self.open_seed,
            "entries": {student: vars(entry) for student, entry in sorted(self.entries.items())},
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(text), encoding="utf-8")
        os.replace(new, self.path)

    def entry_of(self, work: Work, seed: int | None = None) -> Entry:
        """Return what a report on these bytes rests on, with the seed of the work or another one."""
        content = work.raw if work.raw is not None else work.unreadable.encode()
        limits = json.dumps({**asdict(work.limits), "sandboxed": work.sandboxed}, sort_keys=True)
        return Entry(hashlib.sha256(content).hexdigest(), self.version, limits, work.seed if seed is None else seed)


def read_ledger(course: Path, lab: str) -> Ledger:
    """Return the ledger of a lab; an empty one where there is none, or none that can be read."""
    path = _path(course, lab)
    entries, open_seed = _read(path)
    return Ledger(path, version_of(course, lab), entries, open_seed)


def graded_before(course: Path, lab: str) -> frozenset[str]:
    """Return the students who stand in the ledger of a lab, whether or not what they handed in is still the same."""
    return frozenset(_read(_path(course, lab))[0])


def _path(course: Path, lab: str) -> Path:
    return course / "reports" / f"{lab}.ledger.json"


def _read(path: Path) -> tuple[dict[str, Entry], int | None]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        entries = {str(student): Entry(**entry) for student, entry in found["entries"].items()}
        return entries, found["open_seed"]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}, None
