"""The same questions as an instructor asks them without this course's grader: plain cells with `assert`, one for each check.

Each file holds the cells of one lab, `# %% NAME` above each; the first is set-up. They run in a student's notebook (stock
nbgrader) or as test files (otter-grader), on names that the student defines. They name no mistake and keep no secret.
"""

from __future__ import annotations

import re
from pathlib import Path

SET_UP = "set-up"


def cells_of(lab: str) -> dict[str, str]:
    """Return the text of each cell of a lab by its name, which is the name of the check that it stands for."""
    text = (Path(__file__).parent / f"{lab}.py").read_text(encoding="utf-8")
    parts = re.split(r"^# %% (\S+)\n", text, flags=re.MULTILINE)
    return {name: source.strip() + "\n" for name, source in zip(parts[1::2], parts[2::2], strict=True)}
