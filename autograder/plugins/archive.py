"""Archives from a learning platform, of which any one may be broken, hostile or merely not an archive.

nbgrader's extractor ends `zip_collect` for the whole class at the first archive that it cannot open, and unpacks
whatever size an archive claims. Here each archive is opened by itself, only notebooks are taken out of it, and each no
larger than a notebook may be. Links and paths that lead elsewhere are no notebooks.
"""

from __future__ import annotations

import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from nbgrader.plugins import ExtractorPlugin

from autograder.grading.reading import MAX_FILE_BYTES

MAX_DEPTH = 3  # an archive in an archive in an archive: the platform's, the student's, and one by mistake
MAX_MEMBERS = 20_000
ARCHIVES = (".zip", ".tar", ".gz", ".tgz")
BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    OSError,
    EOFError,
    RuntimeError,
    ValueError,
    NotImplementedError,
)


class Extract(ExtractorPlugin):  # type: ignore[misc]
    """Set as `c.ZipCollectApp.extractor_plugin`."""

    def extract(self, archive_path: str, extracted_path: str) -> None:
        """Copy the notebooks below one folder, and in archives there, to the same places below another."""
        source, target = Path(archive_path), Path(extracted_path)
        for path in sorted(source.rglob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            place = target / path.relative_to(source)
            if path.suffix in ARCHIVES:
                self.unpack(path, place.parent / path.name.split(".")[0])
            elif path.suffix == ".ipynb":
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)

    def unpack(self, archive: Path, folder: Path, depth: int = 1) -> None:
        """Take the notebooks out of one archive; what cannot be read is named and left."""
        try:
            for name, file in _members(archive):
                self._take(PurePosixPath(name), file, folder, depth)
        except BROKEN as error:
            self.log.error("Not unpacked, or not to the end: %s: %s", archive, error)

    def _take(self, name: PurePosixPath, file: IO[bytes], folder: Path, depth: int) -> None:
        wanted = name.suffix == ".ipynb" or (name.suffix in ARCHIVES and depth < MAX_DEPTH)
        if not wanted or name.is_absolute() or ".." in name.parts or "\\" in str(name):
            self.log.warning("Not unpacked, because it is no notebook: %s", name)
            return
        content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            self.log.error("Not unpacked, because it is larger than 50 MB: %s", name)
            return
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        if name.suffix in ARCHIVES:
            self.unpack(place, place.parent / place.name.split(".")[0], depth + 1)
            place.unlink()


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the ordinary files of an archive, open, one after the other."""
    with _opened(archive) as opened:
        if isinstance(opened, zipfile.ZipFile):
            for entry in opened.infolist()[:MAX_MEMBERS]:
                if not entry.is_dir() and (entry.external_attr >> 28) in (0, 8):  # 8 is an ordinary file, 0 is unsaid
                    with opened.open(entry) as file:
                        yield entry.filename, file
        else:
            for number, member in enumerate(opened):
                file_or_none = opened.extractfile(member) if member.isreg() and number < MAX_MEMBERS else None
                if file_or_none is not None:
                    yield member.name, file_or_none


@contextmanager
def _opened(archive: Path) -> Iterator[zipfile.ZipFile | tarfile.TarFile]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            yield zipped
    else:
        with tarfile.open(archive) as tarred:
            yield tarred
