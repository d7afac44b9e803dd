"""Run folders are private, short, told apart from strangers', and removed also after a crash."""

import os
import subprocess
import sys
import time

import pytest

from autograder.errors import SandboxError
from autograder.sandbox import folder as module
from autograder.sandbox.folder import RunFolder, remove_stale, strangers


@pytest.fixture(autouse=True)
def own_parent(monkeypatch, tmp_path):
    """The parent of all run folders, for this test alone."""
    parent = tmp_path / "p"
    parent.mkdir(mode=0o700)
    monkeypatch.setattr(module, "_parent", lambda: parent)
    return parent


def age(path):
    old = time.time() - 1000
    os.utime(path, (old, old))


def test_the_folder_is_private_and_its_sockets_have_short_paths(monkeypatch):
    """The address of a Unix socket holds 107 bytes; ours stay below 60."""
    monkeypatch.undo()
    folder = RunFolder()
    try:
        assert folder.path.stat().st_mode & 0o777 == 0o700
        assert len(str(folder.path / "k-5")) < 60
    finally:
        folder.remove()
    assert not folder.path.exists()


def test_a_dead_graders_folder_is_removed(own_parent):
    """Killed with SIGKILL, it could not do so itself."""
    source = (
        "import sys\nfrom pathlib import Path\nfrom autograder.sandbox import folder\n"
        f"folder._parent = lambda: Path({str(own_parent)!r})\n"
        "print(folder.RunFolder().path, flush=True)\ninput()"
    )
    grader = subprocess.Popen([sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    path = grader.stdout.readline().decode().strip()
    age(path)
    assert remove_stale() == 0, "a living grader's folder must stay"
    grader.kill()
    grader.communicate()
    assert remove_stale() == 1
    assert not os.path.exists(path)


def test_a_folder_just_made_is_left_alone(own_parent):
    """Its maker may not have locked it yet."""
    (own_parent / "new").mkdir()
    assert remove_stale() == 0


def test_links_in_the_parent_are_not_followed(own_parent, tmp_path):
    """A folder elsewhere is not emptied."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    (own_parent / "link").symlink_to(precious)
    age(precious)
    os.utime(own_parent / "link", (0, 0), follow_symlinks=False)
    remove_stale()
    assert (precious / "file").exists()


def test_removal_takes_closed_folders_and_leaves_what_links_point_to(tmp_path):
    """A box may leave folders without permissions, and links out."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    folder = RunFolder()
    (folder.path / "deep" / "deeper").mkdir(parents=True)
    (folder.path / "link").symlink_to(precious)
    (folder.path / "deep" / "deeper").chmod(0)
    (folder.path / "deep").chmod(0)
    folder.remove()
    assert not folder.path.exists()
    assert (precious / "file").exists()


def test_strangers_are_seen(tmp_path):
    """An unknown name, a link or a large file under a known one; sockets and a small file are at home."""
    expected = frozenset({"k-1", "c.json"})
    tmp_path = tmp_path / "run"
    tmp_path.mkdir()
    (tmp_path / "c.json").write_text("{}")
    assert strangers(tmp_path, expected) is None
    (tmp_path / "k-1").symlink_to("/etc/passwd")
    assert strangers(tmp_path, expected) == "k-1"
    (tmp_path / "k-1").unlink()
    (tmp_path / "c.json").write_text("x" * 100_000)
    assert strangers(tmp_path, expected) == "c.json"
    (tmp_path / "c.json").unlink()
    (tmp_path / "other").touch()
    assert strangers(tmp_path, expected) == "other"


def test_a_parent_that_others_can_open_is_refused(monkeypatch, tmp_path):
    """Someone else may have made it first."""
    monkeypatch.undo()
    parent = tmp_path / f"autograder-{os.geteuid()}"
    parent.mkdir(mode=0o755)
    monkeypatch.setattr(module, "Path", lambda name: tmp_path if name == "/tmp" else None)
    with pytest.raises(SandboxError, match="only you can open"):
        module._parent()
