"""Who has handed in a lab, from the folders alone: what `autograder grade` must know before it waits for nbgrader's import."""

from __future__ import annotations

import os
from pathlib import Path

from traitlets.config.loader import PyFileConfigLoader


def submitted(course: Path, lab: str) -> dict[str, Path]:
    """Return the folders of what was handed in, by student, where the course's nbgrader_config.py says they lie."""
    given = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config().CourseDirectory
    # Where the course says nothing, as nbgrader's CourseDirectory has it.
    structure = given.get("directory_structure", os.path.join("{nbgrader_step}", "{student_id}", "{assignment_id}"))
    step = given.get("submitted_directory", "submitted")
    place = structure.format(nbgrader_step=step, student_id="*", assignment_id=lab)
    root = Path(os.path.join(given.get("root", os.getcwd()), place).split("*")[0])
    folders = sorted(root.glob(f"*/{lab}")) if root.is_dir() else []
    return {folder.parent.name: folder for folder in folders if folder.is_dir() and not folder.is_symlink()}
