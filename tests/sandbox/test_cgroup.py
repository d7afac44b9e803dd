"""Each box has a control group of its own where the grader may make one, and the watch alone where it may not.

Most of it on a made-up hierarchy, since a real one with these controllers belongs to the machine; what a real one adds is tried by
the grader itself before its first box, and that trial is tried here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path, PosixPath

import pytest

from autograder.errors import SandboxError
from autograder.sandbox import cgroup, doctor, groups, start
from autograder.sandbox.box import Box
from autograder.sandbox.cgroup import Group, Groups
from autograder.sandbox.folder import RunFolder
from autograder.sandbox.keeper import keeper
from autograder.sandbox.policy import Limits
from autograder.sandbox.warm import Template

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="cgroup v2 is Linux'")

FILES = {
    "cgroup.controllers": "cpu memory pids\n",
    "cgroup.subtree_control": "",
    "cgroup.procs": "",
    "memory.max": "max\n",
    "memory.swap.max": "max\n",
    "memory.oom.group": "0\n",
    "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n",
    "pids.max": "max\n",
    "cpu.stat": "usage_usec 2500000\nuser_usec 1\n",
}


class Made(PosixPath):
    """A path of a made-up hierarchy: a new group has its files, and is removed with them."""

    def mkdir(self, *arguments, **options):
        """As the kernel does it."""
        super().mkdir(*arguments, **options)
        for name, text in FILES.items():
            (self / name).write_text(text)

    def rmdir(self):
        """Only groups below keep a group."""
        if not any(path.is_dir() for path in self.iterdir()):
            for path in self.iterdir():
                path.unlink()
        super().rmdir()


@pytest.fixture
def place(tmp_path) -> Made:
    """A group that ours may be made in."""
    place = Made(tmp_path / "above")
    place.mkdir()
    return place


@pytest.fixture
def nobody_asked(monkeypatch):
    """A process that has not looked for groups yet."""
    monkeypatch.setattr(groups, "_groups", None)
    monkeypatch.setattr(groups, "_refused", "")


def test_a_box_is_bounded_above_its_limit_by_what_the_watch_does_not_count(place):
    """Files in /tmp and /dev/shm, 64 MB of the kernel's, two processes; nothing is swapped, and all of it ends together."""
    group = Groups(place).new(Limits(memory_mb=1000, scratch_mb=100, processes=7))
    assert (group.path / "memory.max").read_text() == str((1000 + 100 + 64 + 64) * 2**20)
    assert (group.path / "pids.max").read_text() == "9"
    assert (group.path / "memory.swap.max").read_text() == "0"
    assert (group.path / "memory.oom.group").read_text() == "1"


def test_groups_inside_are_given_the_controllers(place):
    """By the group above and by the grader's own; each box's is another."""
    made = Groups(place)
    assert (place / "cgroup.subtree_control").read_text() == "+memory +pids"
    assert (made.path / "cgroup.subtree_control").read_text() == "+memory +pids"
    assert made.new(Limits()).path != made.new(Limits()).path


def test_what_a_group_lacks_is_no_fault_but_a_bound_is(place, monkeypatch):
    """An older kernel has no memory.oom.group; without memory.max there is no group."""
    monkeypatch.delitem(FILES, "memory.oom.group")
    made = Groups(place)
    assert not (made.new(Limits()).path / "memory.oom.group").exists()
    (made.path / "box-2").mkdir()  # the next one's place is taken
    with pytest.raises(SandboxError, match="No control group"):
        made.new(Limits())


def test_the_end_of_a_grader_leaves_nothing(place):
    """Its boxes' groups go with its own."""
    made = Groups(place)
    made.new(Limits())
    made.close()
    assert [path.name for path in place.iterdir() if path.is_dir()] == []


def test_a_dead_graders_group_is_removed_and_a_living_ones_stays(place):
    """The lock tells; one just made is left alone."""
    living, dead = Groups(place), Groups(place)
    dead.new(Limits())
    os.close(dead._lock)
    assert groups.remove_stale(place) == 0
    for path in (living.path, dead.path):
        os.utime(path, (0, 0))
    assert groups.remove_stale(place) == 1
    assert living.path.exists()
    assert not dead.path.exists()


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda place: (place / "cgroup.controllers").write_text("cpu pids"), "no controller memory"),
        (lambda place: (place / "cgroup.controllers").write_text("hugetlb"), "no controller memory and pids"),
        (lambda place: (place / "cgroup.controllers").unlink(), "No such file"),
        (lambda place: None, "had more than 4 processes"),  # files that are written and bound nothing
    ],
)
def test_a_place_that_does_not_hold_is_not_used(place, spoil, why):
    """Also where everything can be written: the trial finds that nothing comes of it."""
    spoil(place)
    made, said = groups._found([place])
    assert made is None
    assert why in said
    assert [path.name for path in place.iterdir() if path.is_dir()] == []


def test_the_first_place_that_holds_is_used(place, monkeypatch):
    """From this process' own group upwards."""
    own = place / "own"
    own.mkdir()
    (own / "cgroup.controllers").write_text("")
    monkeypatch.setattr(Groups, "trial", lambda self: "")
    made, said = groups._found([own, place])
    assert made is not None
    assert (made.path.parent, said) == (place, "")


@pytest.mark.parametrize(
    ("own", "mount", "expected"),
    [
        ("/a/b", "/ /sys/fs/cgroup", ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"]),
        ("/", "/ /sys/fs/cgroup/unified", ["/sys/fs/cgroup/unified"]),
        ("/pod/c", "/pod /cg", ["/cg/c", "/cg"]),  # a container that is shown a part
        ("/podium/c", "/pod /cg", []),
        ("/../other", "/ /sys/fs/cgroup", []),  # it lies outside of what is shown
    ],
)
def test_places_are_this_process_own_group_and_those_above(monkeypatch, own, mount, expected):
    """Beside groups of version 1, which are not used."""
    root, where = mount.split()
    texts = {
        "/proc/self/cgroup": f"4:memory:/elsewhere\n0::{own}\n",
        "/proc/self/mountinfo": f"30 1 0:2 / /cg1 rw - cgroup a rw,memory\n31 1 0:3 {root} {where} rw shared:1 - cgroup2 b rw\n",
    }
    monkeypatch.setattr(Path, "read_text", lambda self: texts[str(self)])
    assert [str(path) for path in groups.places()] == expected


def test_without_version_2_the_reason_says_so(nobody_asked, monkeypatch):
    """And boxes have no group."""
    monkeypatch.setattr(groups, "places", lambda: iter(()))
    assert groups.group_for(Limits()) is None
    assert "no cgroup v2" in groups.why_none()


@pytest.mark.parametrize(("killed", "cause"), [(1, "memory"), (0, "signal")])
def test_an_end_by_the_kernel_for_memory_is_told_as_such(place, killed, cause):
    """SIGKILL alone does not say why."""
    group = Groups(place).new(Limits())
    (group.path / "memory.events").write_text(f"oom 1\noom_kill {killed}\n")
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    box = Box(process, os.pidfd_open(process.pid), None, RunFolder(), Limits(), None, boxed=True, group=group)
    process.kill()
    process.wait()
    while not box.finish():
        time.sleep(0.01)
    assert box.ended.result().cause == cause
    assert not group.path.exists()
    box.close_exit_descriptor()
    process.communicate()


@pytest.mark.sandbox
def test_cpu_time_is_the_groups(place, monkeypatch):
    """Also that of children which nobody waited for and no look saw: here 2.5 s of which a sleep used none."""
    made = Groups(place)
    monkeypatch.setattr(start, "group_for", made.new)
    box = start.start_box(["/bin/sleep", "60"], RunFolder(), Limits(cpu_s=2)).result()
    assert box.ended.result(10).cause == "cpu"


@pytest.mark.sandbox
@pytest.mark.parametrize("fault", ["it cannot be made", "nothing can be put into it"])
def test_a_box_without_its_group_is_our_trouble(place, fault, monkeypatch):
    """An error, so that the submission is ungraded and not zero; nothing runs on, and its folder is gone."""
    made = Groups(place)

    def broken(limits):
        if fault == "it cannot be made":
            made.path.joinpath("box-1").mkdir()
            return made.new(limits)
        group = made.new(limits)
        (group.path / "cgroup.procs").unlink()
        (group.path / "cgroup.procs").symlink_to("/no/such/file")
        return group

    monkeypatch.setattr(start, "group_for", broken)
    folder = RunFolder()
    with pytest.raises(SandboxError, match="control group"):
        start.start_box(["/bin/sleep", "61"], folder, Limits()).result()
    assert not folder.path.exists()


def _real_place() -> Path | None:
    """A part of a real hierarchy that can be written, whatever its controllers."""
    return next((place for place in groups.places() if os.access(place, os.W_OK)), None)


@pytest.mark.sandbox
@pytest.mark.skipif(_real_place() is None, reason="no cgroup v2 that this user may write")
def test_every_process_of_a_box_is_in_its_group(rung, monkeypatch):
    """A real hierarchy, without bounds: process 1 and all that came later; afterwards the group is gone."""
    path = _real_place() / f"{cgroup.NAME}test-{os.getpid()}-{rung}"
    monkeypatch.setattr(start, "group_for", lambda limits: Group(path, {}))
    source = "import os, time; os.fork(); os.fork(); time.sleep(60)"
    template = keeper().call(lambda: Template(["json"])).result() if rung == "warm" else None
    try:
        if template is not None:
            template.wait_until_ready(60)
            given = {"connection": None, "source": source, "arguments": [], "files": {}}
            box = start.start_fork(template, RunFolder(within=template.folder), Limits(), given).result()
        else:
            box = start.start_box([sys.executable, "-c", source], RunFolder(), Limits()).result()
        deadline = time.monotonic() + 20
        while len((path / "cgroup.procs").read_text().split()) < 5 and time.monotonic() < deadline:
            time.sleep(0.02)
        inside = {int(word) for word in (path / "cgroup.procs").read_text().split()}
        # The program, its three children, and process 1; bubblewrap's outermost process only waits, outside.
        assert inside == set(box._members()) - ({box.process.pid} if template is None else set())
        assert len(inside) == 5
        assert box.group.cpu_s() > 0
        box.stop()
        box.ended.result(10)
        assert not path.exists()
    finally:
        box.stop()
        box.ended.result(10)
        if template is not None:
            template.close()


@pytest.mark.sandbox
def test_the_kernel_ends_a_box_that_no_watch_looks_at_or_the_doctor_says_why_not(monkeypatch):
    """On a machine with such groups the bomb ends for its memory; on another the reason is named."""
    detail = doctor._groups().detail
    if groups.groups() is None:
        assert groups.why_none()
        assert groups.why_none() in detail
        return
    assert "tried: the kernel bounds" in detail
    monkeypatch.setattr(Box, "look", lambda self, seen: None)
    source = "import os\nfor _ in range(20):\n    if os.fork() == 0: break\nblocks = []\nwhile True: blocks.append(b'x' * 2**20)"
    limits = Limits(memory_mb=100, scratch_mb=1, wall_notebook_s=30)
    end = start.start_box([sys.executable, "-c", source], RunFolder(), limits).result().ended.result(60)
    assert (end.cause, end.code) == ("memory", 0)
