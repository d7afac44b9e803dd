"""The command line of a box: each word that a known trap needs is there, for root and for an ordinary user."""

import re

import pytest

from autograder.sandbox.bwrap import Paths, inner, options
from autograder.sandbox.policy import Limits
from autograder.sandbox.view import view

PATHS = Paths("/usr/bin/bwrap", "/usr/bin/prlimit", "/usr/bin/setpriv")
USERS = pytest.mark.parametrize("user_id", [None, 1_900_000_000], ids=["user", "root"])


def words(user_id):
    return options(view(), "/tmp/autograder-0/abcd", Limits(), user_id=user_id)


@USERS
def test_every_namespace_is_new(user_id):
    """Processes, network, System V objects, host name."""
    assert {f"--unshare-{name}" for name in ("pid", "net", "ipc", "uts", "cgroup-try")} <= set(words(user_id))


def test_root_maps_no_user_namespace():
    """With one, --uid would stand for the real root; setpriv takes a throw-away id instead, and drops everything."""
    assert "--unshare-user" not in words(1_900_000_000)
    assert "--uid" not in words(1_900_000_000)
    command = " ".join(inner(["python"], Limits(), PATHS, user_id=1_900_000_000))
    assert "--reuid=1900000000 --regid=1900000000 --clear-groups --bounding-set=-all" in command
    assert "--no-new-privs" in command


def test_an_ordinary_user_has_one():
    """And no use for setpriv."""
    assert "--unshare-user" in words(None)
    assert "setpriv" not in " ".join(inner(["python"], Limits(), PATHS, user_id=None))


@USERS
def test_limits_are_set_before_anything_runs(user_id):
    """For process 1 and for the student's program, which comes last."""
    command = inner(["python", "-c", "1"], Limits(processes=7), PATHS, user_id=user_id)
    assert command[:2] == ["/bin/sh", "-c"]
    assert command[2].count("--nproc=7") == 2
    assert "--pid 1 &&" in command[2]
    assert command[-3:] == ["python", "-c", "1"]


@USERS
def test_the_root_folder_is_closed_last(user_id):
    """An ordinary user owns it; after this word no bind may follow."""
    line = " ".join(words(user_id))
    assert re.search(r"--bind \S+ \S+ --remount-ro / --chdir \S+$", line)
    assert line.count("--bind ") == 1


@USERS
def test_every_folder_above_a_bind_is_made_readable(user_id):
    """bubblewrap makes missing ones for its own user alone."""
    given = words(user_id)
    made = {given[at + 1] for at, word in enumerate(given) if word == "--dir"}
    places = [given[at + 2] for at, word in enumerate(given) if word in ("--ro-bind", "--symlink", "--bind")]
    for place in places:
        above = place.rsplit("/", 1)[0]
        while above not in ("", "/tmp"):
            assert above in made or above in places, place
            above = above.rsplit("/", 1)[0]
    assert all(given[at - 2] == "--perms" for at, word in enumerate(given) if word == "--dir")


@USERS
def test_every_memory_file_system_has_a_size(user_id):
    """The default is half of the machine's memory."""
    given = words(user_id)
    for at, word in enumerate(given):
        if word == "--tmpfs":
            assert given[at - 4] == "--size" or given[at - 2] == "--size"
