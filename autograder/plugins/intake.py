"""What lies in submitted/ is made fit to be copied, before nbgrader copies it.

`nbgrader autograde` follows links, and ignores a notebook under a name it does not know. This hook sweeps whatever came
into submitted/ by another way than our `exchange.Collect`: by hand, from an archive, from a learning platform.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from nbgrader.utils import parse_utc
from traitlets.log import get_logger

from autograder.grading.reading import notebook_in


def sweep(assignment: str, student: str, notebooks: list[str]) -> None:
    """Make a submission fit to be copied, before nbgrader copies it (a `pre_convert_hook`).

    Links and odd files are removed, and a timestamp that cannot be read, which would lose the submission. A notebook
    under another name ("lab (1).ipynb"), if it is the only one, is copied to the name that is graded; nbgrader would
    grade nothing. `notebooks` is nbgrader's own list, and is changed.

    Raises:
        SystemExit: a link cannot be removed. nbgrader logs and forgets ordinary exceptions of a hook, and would follow
            the link.
    """
    log = get_logger()
    for folder in {Path(notebook).parent for notebook in notebooks}:
        for found in sorted(_odd_files(folder)):
            log.warning("Removed from the submission, because it is a link or no ordinary file: %s", found)
            try:
                found.unlink()
            except OSError as error:
                raise SystemExit(
                    f"{found} is a link and cannot be removed ({error}); remove it, then grade again."
                ) from error
        timestamp = folder / "timestamp.txt"
        if timestamp.exists() and not is_timestamp(timestamp):
            log.warning("Removed from the submission, because it holds no time: %s", timestamp)
            timestamp.unlink()
        meant = notebook_in(folder, assignment)
        named = folder / f"{assignment}.ipynb"
        if meant != named:
            log.warning("Graded as %s: %s", named.name, meant)
            shutil.copyfile(meant, named)
            notebooks[:] = [str(named)]


def is_timestamp(path: Path) -> bool:
    """Tell whether nbgrader will be able to read a timestamp.txt."""
    try:
        with path.open(encoding="utf-8") as file:
            parse_utc(file.read(200).strip())
    except (OSError, ValueError, OverflowError, TypeError):
        return False
    return True


def _odd_files(folder: Path) -> list[Path]:
    entries = [Path(base, name) for base, folders, files in os.walk(folder) for name in (*folders, *files)]
    return [path for path in entries if path.is_symlink() or not (path.is_dir() or path.is_file())]
