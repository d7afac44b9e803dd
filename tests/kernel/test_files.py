"""Files travel with a notebook as copies: small, regular, visible, and never through a link."""

import os

from autograder.kernel.files import MAX_FILES, travelling_files


def test_regular_files_travel_with_their_folders(tmp_path):
    """Content by relative path; notebooks and hidden names stay."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("1")
    (tmp_path / "b.txt").write_text("2")
    (tmp_path / "tests.ipynb").write_text("{}")
    (tmp_path / ".secret").write_text("3")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "c").write_text("4")
    assert travelling_files(tmp_path, 100) == {"b.txt": b"2", "data/a.csv": b"1"}


def test_links_pipes_and_devices_stay(tmp_path):
    """A link to a file of the grader's is not followed, and a pipe does not make the grader wait."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "solution").write_text("secret")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "file").symlink_to(outside / "solution")
    (inside / "folder").symlink_to(outside)
    os.mkfifo(inside / "pipe")
    os.link(outside / "solution", inside / "hard")  # a hard link is a file of the submission's own
    assert travelling_files(inside, 100) == {"hard": b"secret"}


def test_the_bounds_hold(tmp_path):
    """On bytes together and on the number."""
    for number in range(MAX_FILES + 5):
        (tmp_path / f"{number:03}").write_text("12345")
    assert len(travelling_files(tmp_path, 10**6)) == MAX_FILES
    assert len(travelling_files(tmp_path, 12)) == 2
