"""What students leave in the exchange can hurt nobody: not the instructor's files, not the other students."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.grading.reading import MAX_FILE_BYTES
from autograder.plugins import intake
from tests.plugins.conftest import LAB, Course
from tests.submissions import odd

Packer = Callable[..., bytes]
WHEN = "2026-03-01 10:00:00.000000 UTC"


def handed_in(course: Course, name: str, notebook: odd.NotebookDict | None = None) -> Path:
    """A folder in the exchange, as `nbgrader submit` makes it, with any name."""
    inbound = course.root / "exchange" / "normalization" / "inbound"
    folder = inbound / name
    folder.mkdir(parents=True)
    (folder / f"{LAB}.ipynb").write_bytes(odd.as_bytes(notebook or odd.solved()))
    (folder / "timestamp.txt").write_text(WHEN)
    return folder


def collected(course: Course, student: str) -> list[str]:
    return sorted(path.name for path in (course.root / "submitted" / student / LAB).iterdir())


def test_links_and_pipes_are_left_in_the_exchange(course: Course) -> None:
    secret = course.root / "secret.txt"
    secret.write_text("the answer")
    folder = handed_in(course, f"ann+{LAB}+{WHEN}+r")
    (folder / "notes.txt").write_text("mine")
    (folder / "leak.txt").symlink_to(secret)
    (folder / "all").symlink_to(course.root / "solutions")
    os.mkfifo(folder / "pipe")
    log = course.run("collect", LAB)
    assert collected(course, "ann") == [f"{LAB}.ipynb", "notes.txt", "timestamp.txt"]
    assert log.count("Not collected, because it is a link") == 3


def test_one_odd_name_does_not_end_the_collection(course: Course) -> None:
    handed_in(course, f"ann+{LAB}+{WHEN}+r")
    handed_in(course, f"bob+{LAB}+yesterday+r")
    handed_in(course, f"<img src=x onerror=alert(1)>+{LAB}+{WHEN}+r")
    inbound = course.root / "exchange" / "normalization" / "inbound"
    (inbound / f"cal+{LAB}+{WHEN}+r").symlink_to(course.root / "solutions")
    (inbound / f"dee+{LAB}+{WHEN}+r").symlink_to(course.root / "nothing")
    (inbound / f"eve+{LAB}+{WHEN}+r").write_text("a file")
    log = course.run("collect", LAB)
    assert [path.name for path in (course.root / "submitted").iterdir()] == ["ann"]
    assert log.count("Not collected, because") == 5


def test_a_timestamp_that_cannot_be_read_is_mended(course: Course) -> None:
    """With stock nbgrader it loses the submission at autograde."""
    folder = handed_in(course, f"ann+{LAB}+{WHEN}+r")
    (folder / "timestamp.txt").write_text("soon" * 100)
    course.run("collect", LAB)
    assert (course.root / "submitted" / "ann" / LAB / "timestamp.txt").read_text() == WHEN


def test_a_submission_that_is_too_large_is_left_out_alone(course: Course) -> None:
    folder = handed_in(course, f"ann+{LAB}+{WHEN}+r")
    with (folder / "large.bin").open("wb") as file:
        file.truncate(200_000_000)  # a hole; nothing is written
    handed_in(course, f"bob+{LAB}+{WHEN}+r")
    log = course.run("collect", LAB)
    assert "larger than" in log
    assert not (course.root / "submitted" / "ann" / LAB).exists()
    assert collected(course, "bob") == [f"{LAB}.ipynb", "timestamp.txt"]


def tar_of(*members: tuple[str, bytes | str]) -> bytes:
    """A tar archive; a member whose content is a string is a link to it."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return held.getvalue()


def zip_of(*members: tuple[str, bytes | str]) -> bytes:
    """The same as a zip archive."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o120777 if isinstance(content, str) else 0o100644) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return held.getvalue()


@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_an_archive_brings_notebooks_and_nothing_else(course: Course, pack: Packer) -> None:
    """Links, paths that lead out, a broken archive within, a bomb: the class is collected all the same."""
    raw = odd.as_bytes(odd.solved())
    own = f"_7_{LAB}.ipynb"
    archive = course.root / "downloaded" / LAB / "archive"
    archive.mkdir(parents=True)
    (archive / "broken.zip").write_bytes(b"PK\x03\x04 and then nothing")
    (archive / "alone.zip").write_bytes(raw)
    (archive / f"dee{own}").write_bytes(raw)
    (archive / ("class.zip" if pack is zip_of else "class.tar.gz")).write_bytes(
        pack(
            (f"ann{own}", raw),
            (f"eve{own}", "/etc/passwd"),
            ("../../up.ipynb", raw),
            ("/tmp/absolute.ipynb", raw),
            ("notes.txt", b"words"),
            (f"gus{own}", b" " * (MAX_FILE_BYTES + 1)),
            ("bob.zip", zip_of((f"bob{own}", raw))),
            ("cal.zip", b"PK\x03\x04 broken"),
        )
    )
    log = course.run("zip_collect", LAB)
    assert sorted(path.name for path in (course.root / "submitted").iterdir()) == ["ann", "bob", "dee"]
    assert (course.root / "submitted" / "ann" / LAB / f"{LAB}.ipynb").read_bytes() == raw
    assert not list(course.root.rglob("up.ipynb"))
    assert log.count("Not unpacked, or not to the end") == 3
    assert "larger than 50 MB" in log


def test_the_only_notebook_is_graded_under_any_name_and_none_is_chosen_among_two(tmp_path: Path) -> None:
    first = tmp_path / "one" / f"{LAB} (1).ipynb"
    first.parent.mkdir()
    first.write_text("{}")
    notebooks = [str(first)]
    intake.sweep(LAB, "ann", notebooks)
    assert notebooks == [str(tmp_path / "one" / f"{LAB}.ipynb")]
    assert Path(notebooks[0]).read_text() == "{}"

    two = tmp_path / "two"
    two.mkdir()
    for name in ("a.ipynb", "b.ipynb"):
        (two / name).write_text(name)
    notebooks = [str(two / "a.ipynb"), str(two / "b.ipynb")]
    intake.sweep(LAB, "ann", notebooks)
    assert notebooks == [str(two / "a.ipynb"), str(two / "b.ipynb")]


def test_a_link_that_cannot_be_removed_stops_grading_rather_than_being_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """nbgrader forgets an ordinary exception of a hook, and would copy what the link points to."""
    (tmp_path / f"{LAB}.ipynb").write_text("{}")
    (tmp_path / "leak.txt").symlink_to("/etc/passwd")

    def refused(self: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refused)
    with pytest.raises(SystemExit, match=r"leak\.txt is a link and cannot be removed"):
        intake.sweep(LAB, "ann", [str(tmp_path / f"{LAB}.ipynb")])
