"""Who has handed in a lab, and whether there is a gradebook: what `autograder grade` must know before nbgrader's import."""

from __future__ import annotations

import os
import re
from pathlib import Path

from traitlets.config.loader import PyFileConfigLoader

FILE = re.compile(r"sqlite:///(?P<path>[^?]+)")


def has_gradebook(course: Path) -> bool:
    """Say whether the gradebook is a file that is there; one on a server may be, and that is not asked here."""
    given = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config().CourseDirectory
    root = given.get("root", os.getcwd())
    found = FILE.match(given.get("db_url", f"sqlite:///{os.path.join(root, 'gradebook.db')}"))
    path = Path(found["path"]) if found else None
    return path is not None and path.is_file() and path.stat().st_size > 0


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
