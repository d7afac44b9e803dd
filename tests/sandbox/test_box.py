"""A box starts quickly, ends completely, and says why it ended."""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from autograder.errors import SandboxError, SandboxUnavailable
from autograder.sandbox import bwrap, start
from autograder.sandbox.descriptors import first_process, pid_of
from autograder.sandbox.end import End
from autograder.sandbox.folder import RunFolder
from autograder.sandbox.keeper import keeper
from autograder.sandbox.policy import Limits
from autograder.sandbox.start import start_box
from autograder.sandbox.users import throw_away_user
from autograder.sandbox.warm import Template

pytestmark = pytest.mark.sandbox
LIMITS = Limits(wall_notebook_s=30)


def run(*argv, limits=LIMITS, **options):
    return start_box(argv, RunFolder(), limits, **options).result().ended.result(60)


@pytest.mark.parametrize(
    ("command", "cause", "code"),
    [
        ("exit 0", "exit", 0),
        ("exit 3", "exit", 3),
        ("kill -SEGV $$", "signal", signal.SIGSEGV),
        ("kill -KILL $$", "signal", signal.SIGKILL),
    ],
)
def test_the_end_is_told_apart(command, cause, code):
    """Exit codes and signals, through bubblewrap's own convention."""
    end = run("/bin/sh", "-c", command)
    assert (end.cause, end.code) == (cause, code)


def test_the_last_words_are_kept():
    """4 kB of what was written to standard error, however much it was."""
    end = run(sys.executable, "-c", "import sys; sys.stderr.write('x' * 300_000 + 'last words')")
    assert end.tail.endswith("last words")
    assert len(end.tail) <= 4000


def test_stopping_is_quick_and_may_be_repeated():
    """Also after the end."""
    box = start_box(["/bin/sleep", "60"], RunFolder(), LIMITS).result()
    assert box.alive
    started = time.monotonic()
    box.stop()
    box.stop()
    assert box.ended.result(10).cause == "closed"
    assert time.monotonic() - started < 2
    box.stop()
    assert not box.path.exists()


def test_files_and_variables_are_handed_over():
    """The files lie in the home and can be written."""
    code = "import os; print(open('a/b.txt').read(), os.environ['X']); open('a/b.txt', 'a').write('more')"
    end = run(sys.executable, "-c", code, files={"a/b.txt": b"content"}, variables={"X": "1"})
    assert (end.tail, end.code) == ("content 1\n", 0)


def test_a_box_holds_no_descriptor_of_the_graders(tmp_path):
    """An open, inheritable file of the grader's is not passed on."""
    with open(tmp_path / "secret", "w") as secret:
        os.set_inheritable(secret.fileno(), True)
        end = run(sys.executable, "-c", "import os; print(sorted(os.listdir('/proc/self/fd')))")
    assert end.tail == "['0', '1', '2', '3']\n"  # the last is the listing's own


def test_after_sigkill_of_the_grader_nothing_runs_on():
    """The kernel ends the box; its folder is removed at the next start (see test_folder.py)."""
    source = (
        "from autograder.sandbox.start import start_box\nfrom autograder.sandbox.folder import RunFolder\n"
        "from autograder.sandbox.policy import Limits\nimport time\n"
        "box = start_box(['/bin/sh', '-c', 'sleep 61 & sleep 61'], RunFolder(), Limits()).result()\n"
        "print(box.process.pid, box.path, flush=True)\ntime.sleep(60)"
    )
    grader = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
    outermost, folder = grader.stdout.readline().split()
    grader.kill()
    grader.communicate()
    deadline = time.monotonic() + 5
    while _state(outermost) not in ("", "Z") and time.monotonic() < deadline:
        time.sleep(0.02)
    try:
        assert _state(outermost) in ("", "Z")
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)


def _state(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def test_a_program_that_is_not_there_is_the_boxs_end_not_our_error():
    """bubblewrap says so, with its own exit code."""
    end = run("/no/such/program")
    assert end.code != 0
    assert "No such file" in end.tail


def test_a_word_that_bubblewrap_does_not_know_is_an_error_of_ours(monkeypatch):
    """Its words are in the message, and the folder is gone."""
    folder = RunFolder()
    monkeypatch.setattr(bwrap, "options", lambda *a, **k: ["--no-such-option"])
    with pytest.raises(SandboxError, match=r"no-such-option.*autograder doctor"):
        start_box(["/bin/true"], folder, LIMITS).result()
    assert not folder.path.exists()


@pytest.mark.parametrize("said", ["setting up uid map: Permission denied", "No permissions to create new namespace"])
def test_a_machine_that_forbids_namespaces_is_unavailable(monkeypatch, tmp_path, said):
    """As on Ubuntu 24.04 and in many containers."""
    fake = tmp_path / "bwrap"
    fake.write_text(f"#!/bin/sh\necho 'bwrap: {said}' >&2\nexit 1\n")
    fake.chmod(0o755)
    paths = bwrap.Paths(str(fake), "/usr/bin/prlimit", "/usr/bin/setpriv")
    monkeypatch.setattr(bwrap, "programs", lambda: paths)
    with pytest.raises(SandboxUnavailable, match=said):
        start_box(["/bin/true"], RunFolder(), LIMITS).result()


def test_the_id_of_process_1_is_read_in_pieces():
    """bubblewrap writes its JSON bit by bit; an open brace is no answer, an end without one is none at all."""
    reading, writing = os.pipe()
    pieces = ["{", '\n    "child-pid": ', str(os.getpid())[:1], str(os.getpid())[1:], "\n", "}\n"]

    def write():
        for piece in pieces:
            os.write(writing, piece.encode())
            time.sleep(0.01)
        os.close(writing)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        handle = first_process(reading)
        assert pid_of(handle) == os.getpid()
        os.close(handle)
        thread.join()
        assert first_process(reading) is None
    finally:
        os.close(reading)


def gone(pid):
    while os.path.exists(f"/proc/{pid}"):
        time.sleep(0.01)


@pytest.fixture
def late(monkeypatch):
    """A grader that looks for process 1 when bubblewrap has buried it."""
    pidfd_open = os.pidfd_open
    monkeypatch.setattr(os, "pidfd_open", lambda pid: gone(pid) or pidfd_open(pid))


NOWHERE = ["--ro-bind", "/no/such/folder", "/x"]


def test_a_box_that_ended_before_it_was_held_says_why(late, monkeypatch):
    """On a busy machine; not that there is no such process."""
    monkeypatch.setattr(bwrap, "options", lambda *a, **k: NOWHERE)
    with pytest.raises(SandboxError, match=r"/no/such/folder.*autograder doctor"):
        start_box(["/bin/true"], RunFolder(), LIMITS).result()


def test_a_template_that_ended_before_it_was_held_says_why(late, monkeypatch):
    """The same of the warm one."""
    monkeypatch.setattr(bwrap, "template_options", lambda *a, **k: NOWHERE)
    made = keeper().call(lambda: Template(["time"])).result()
    try:
        with pytest.raises(SandboxError, match="/no/such/folder"):
            made.wait_until_ready(10)
    finally:
        made.close()


@pytest.mark.parametrize("ends", [True, False])
def test_a_box_that_ended_before_it_had_its_group_says_why(monkeypatch, ends):
    """What it said is the reason then, and otherwise the group is."""

    class Group:
        removed = False

        def admit(self, pid):
            if ends:
                handle = os.pidfd_open(pid)
                select.select([handle], [], [])
                os.close(handle)
            raise SandboxError("A box could not be put into its control group.")

        def remove(self):
            self.removed = True

    group = Group()
    monkeypatch.setattr(start, "group_for", lambda _: group)
    if ends:
        monkeypatch.setattr(bwrap, "options", lambda *a, **k: NOWHERE)
    with pytest.raises(SandboxError, match="/no/such/folder" if ends else "control group"):
        start_box(["/bin/true"], RunFolder(), LIMITS).result()
    assert group.removed


def test_a_box_outlives_the_thread_that_asked_for_it():
    """The kernel ends a box with the thread that started it: that is the keeper's, whoever asked."""
    boxes = []
    ask = threading.Thread(target=lambda: boxes.append(start_box(["/bin/sleep", "60"], RunFolder(), LIMITS).result()))
    ask.start()
    ask.join()
    time.sleep(0.2)
    assert boxes[0].alive
    boxes[0].stop()
    boxes[0].ended.result(10)


def test_another_system_is_unavailable(monkeypatch):
    """macOS and Windows are told what to do."""
    monkeypatch.setattr(start.sys, "platform", "darwin")
    with pytest.raises(SandboxUnavailable, match="needs Linux"):
        start_box(["/bin/true"], RunFolder(), LIMITS).result()


@pytest.mark.parametrize("cause", ["memory", "cpu", "wall", "folder", "closed", "exit", "signal"])
def test_every_end_has_a_sentence(cause):
    """Plain words with a capital and a full stop."""
    for code in (0, 9, 11, 99):
        sentence = End(cause, code).sentence(LIMITS)
        assert sentence[0].isupper()
        assert sentence.endswith(".")


def test_user_ids_are_taken_from_those_the_machine_maps(monkeypatch, tmp_path):
    """A container may map 65,536 of them; where even those lack, root cannot box."""
    real_open = open
    table = tmp_path / "uid_map"

    def fake(path, *rest):
        return real_open(table if path == "/proc/self/uid_map" else path, *rest)

    monkeypatch.setattr("builtins.open", fake)
    table.write_text("0 0 4294967295\n")
    assert throw_away_user() >= 0x7000_0000
    table.write_text("0 100000 65536\n")
    assert 30000 <= throw_away_user() < 60000
    table.write_text("0 1000 1\n")
    with pytest.raises(SandboxUnavailable, match="ordinary user"):
        throw_away_user()
