"""Remember which checks passed since the kernel started, and how many of the lab's points that makes. It grades nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from autograder.practice.file import PracticeLab

PASSED: dict[str, set[str]] = {}  # by the lab's name
NOTED: dict[str, set[str]] = {}  # predictions that were written down


@dataclass(frozen=True)
class Progress:
    """Points of the checks that pass here, of the predictions that were noted, of the lab in all (those a machine gives)."""

    lab: str
    passed: float
    noted: float
    points: float

    @property
    def sentence(self) -> str:
        """Say it in words."""
        told = f"{self.lab}: {self.passed:g} of {self.points:g} points pass here, since the kernel started"
        return told + (f"; {self.noted:g} for predictions, told when graded" if self.noted else "")


def record(lab: PracticeLab, name: str, passed: bool) -> Progress:
    """Write down how a check went, a later time in place of an earlier one, and return where the lab stands."""
    kind = NOTED if lab.checks[name].secret else PASSED
    names = kind.setdefault(lab.name, set())
    (names.add if passed else names.discard)(name)
    passed_points, noted = (
        sum(lab.checks[known].points for known in kept.get(lab.name, ())) for kept in (PASSED, NOTED)
    )
    return Progress(title_of(lab.name), passed_points, noted, lab.points)


def title_of(lab: str) -> str:
    """Return "Lab 1" for lab01_batch_norm."""
    found = re.match(r"lab0*(\d+)", lab)
    return f"Lab {found[1]}" if found else lab
