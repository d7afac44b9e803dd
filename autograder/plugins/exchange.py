"""The exchange folder, with the door kept: what students hand in may hold anything.

`nbgrader collect` copies with the instructor's rights and follows links, so that a link in a submission to the
solution, or to anything else the instructor may read, comes back to the student as feedback; and one odd folder name
ends the collection for all. Here only ordinary files and folders are copied, and what is odd is left out by itself.

`nbgrader release_feedback` ends at the first submission that did not come through the exchange; here it passes over it.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseFeedback

from autograder.plugins.intake import is_timestamp

# Who hands in is a folder's name, which its owner chose; it ends up in paths, pages and spreadsheets.
STUDENT_ID = re.compile(r"[^\W_][\w.@+ -]{0,63}")


class Collect(ExchangeCollect):  # type: ignore[misc]
    """`nbgrader collect`, for submissions that may hold anything."""

    src_records: list[dict[str, Any]]

    def _path_to_record(self, path: str) -> dict[str, Any]:
        """Read who and when from a folder's name; one odd name must not end the collection."""
        try:
            record: dict[str, Any] = super()._path_to_record(path)
            return record
        except (ExchangeError, ValueError, OverflowError, TypeError):
            return {"username": "", "filename": os.path.basename(path), "timestamp": datetime.min}

    def init_src(self) -> None:
        """Find the submissions, leaving out links and folders that name no student."""
        super().init_src()
        self.src_records = [record for record in self.src_records if self._is_submission(record)]

    def _is_submission(self, record: dict[str, Any]) -> bool:
        path = Path(self.inbound_path, record["filename"])
        if path.is_symlink() or not path.is_dir():
            self.log.error("Not collected, because it is a link or no folder: %s", path)
            return False
        if not STUDENT_ID.fullmatch(record["username"]):
            self.log.error("Not collected, because its name gives no student and time: %s", path)
            return False
        return True

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy one submission without its links; one that cannot be copied does not keep back the others."""
        ignored_by_config = shutil.ignore_patterns(*self.coursedir.ignore)

        def ignored(folder: str, names: list[str]) -> set[str]:
            left_out = {name for name in names if not _is_plain(Path(folder, name), self._max_bytes())}
            for name in sorted(left_out):
                self.log.warning(
                    "Not collected, because it is a link, no ordinary file or too large: %s/%s", folder, name
                )
            return left_out | ignored_by_config(folder, names)

        try:
            if self.get_size(src) > 1000 * self.coursedir.max_dir_size:
                self.log.error("Not collected, because it is larger than %d kB: %s", self.coursedir.max_dir_size, src)
                return
            shutil.copytree(src, dest, ignore=ignored, symlinks=True)
        except (OSError, shutil.Error) as error:
            self.log.error("Not collected in full: %s: %s", src, error)
        _mend_timestamp(Path(dest), Path(src).name)

    def _max_bytes(self) -> int:
        return 1000 * int(self.coursedir.max_file_size)


def _is_plain(path: Path, max_bytes: int) -> bool:
    if path.is_symlink():
        return False
    return path.is_dir() or (path.is_file() and path.stat().st_size <= max_bytes)


def _mend_timestamp(folder: Path, name: str) -> None:
    """Write the time of the submission's folder where the student's own timestamp.txt cannot be read."""
    path = folder / "timestamp.txt"
    parts = name.rsplit("+", 3)
    if folder.is_dir() and not is_timestamp(path) and len(parts) >= 3:
        path.unlink(missing_ok=True)
        path.write_text(parts[2], encoding="utf-8")


class ReleaseFeedback(ExchangeReleaseFeedback):  # type: ignore[misc]
    """`nbgrader release_feedback`, for a class in which some handed in by another way."""

    def copy_files(self) -> None:
        """Release the pages of those who can fetch them: a page is found by the secret of the submission."""
        pages = [Path(page) for page in glob.glob(os.path.join(self.src_path, "*.html"))]
        needed = ("timestamp.txt", "submission_secret.txt")
        others = [page.parent for page in pages if not all((page.parent / name).is_file() for name in needed)]
        for folder in others:
            self.log.warning("Not released, because it was not handed in through the exchange: %s", folder)
        before = self.coursedir.student_id_exclude
        excluded = [before] if before else []
        students = [self._student(folder) for folder in others]
        self.coursedir.student_id_exclude = ",".join([*excluded, *students])
        try:
            super().copy_files()
        finally:
            self.coursedir.student_id_exclude = before

    def _student(self, folder: Path) -> str:
        pattern = self.coursedir.format_path(
            self.coursedir.feedback_directory, "(?P<student>.*)", self.coursedir.assignment_id, escape=True
        )
        found = re.fullmatch(pattern, str(folder))
        return found["student"] if found else folder.parent.name
