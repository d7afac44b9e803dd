"""Ten traps of boxing kernels, each met by someone before: the table says which tests keep out of each.

Most have their test where the part is that keeps out of it; those that need several parts, or a real attempt, are here.
"""

from __future__ import annotations

import ast
import os
import secrets
import select
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyseccomp
import pytest

from autograder.kernel import launch
from autograder.sandbox import bwrap, start, warm
from autograder.sandbox.box import Box
from autograder.sandbox.end import End
from autograder.sandbox.folder import RunFolder
from autograder.sandbox.keeper import keeper
from autograder.sandbox.policy import Limits
from autograder.sandbox.warm import Template

pytestmark = pytest.mark.sandbox
TESTS = Path(__file__).resolve().parents[1]
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="not root")
LIMITS = Limits(wall_notebook_s=30)

TRAPS = {
    "1 root's --uid in a namespace of users stands for the real root": [
        "sandbox/test_bwrap.py::test_root_maps_no_user_namespace",
        "sandbox/test_traps.py::test_1_what_roots_box_runs_is_nobody_outside",
        "sandbox/test_traps.py::test_1_no_two_kernels_of_root_are_the_same_user",
    ],
    "2 Python lies below a folder that only root may enter": [
        "sandbox/test_traps.py::test_2_what_lies_below_a_closed_folder_of_roots_is_shown",
    ],
    "3 bubblewrap makes the folders above a bind for its own user alone": [
        "sandbox/test_bwrap.py::test_every_folder_above_a_bind_is_made_readable",
        "sandbox/test_traps.py::test_3_every_folder_above_what_is_shown_can_be_listed",
    ],
    "4 root's bubblewrap covers parts of /proc, and then no other can be mounted": [
        "sandbox/test_traps.py::test_4_a_fork_has_a_proc_of_its_own",
        "sandbox/test_traps.py::test_4_it_could_not_with_parts_of_it_covered",
    ],
    "5 an ordinary user's box can write its root folder, and forks would share it": [
        "escapes/test_writes_to_the_system.py::test_only_the_boxs_own_scratch_can_be_written",
        "kernel/test_template.py::test_forks_share_nothing_that_one_of_them_writes",
        "sandbox/test_bwrap.py::test_every_memory_file_system_has_a_size",
    ],
    "6 a box ends with the thread that started it, and with the grader": [
        "sandbox/test_box.py::test_a_box_outlives_the_thread_that_asked_for_it",
        "sandbox/test_box.py::test_after_sigkill_of_the_grader_nothing_runs_on",
        "sandbox/test_folder.py::test_a_dead_graders_folder_is_removed",
        "sandbox/test_traps.py::test_6_a_template_outlives_the_thread_that_asked_for_it",
        "sandbox/test_traps.py::test_6_after_sigkill_of_the_grader_no_template_and_no_kernel_runs_on",
    ],
    "7 no namespace covers AF_VSOCK": [
        "escapes/test_opens_foreign_socket_families.py::test_only_harmless_families_open",
        "sandbox/test_doctor.py::test_a_filter_that_allows_everything_is_found",
    ],
    "8 libzmq aborts where there are no internet sockets": [
        "sandbox/test_traps.py::test_8_zmq_has_its_internet_socket_which_leads_nowhere",
    ],
    "9 bubblewrap writes its JSON in pieces": [
        "sandbox/test_box.py::test_the_id_of_process_1_is_read_in_pieces",
    ],
    "10 a machine forbids namespaces, or those inside a box": [
        "sandbox/test_box.py::test_a_machine_that_forbids_namespaces_is_unavailable",
        "sandbox/test_doctor.py::test_the_remedy_fits_the_setting",
        "sandbox/test_traps.py::test_10_where_no_namespaces_can_be_made_inside_a_box_kernels_are_cold",
    ],
}


@pytest.mark.parametrize("trap", TRAPS)
def test_each_trap_has_its_tests(trap):
    """Every test that the table names is there."""
    for name in TRAPS[trap]:
        file, _, function = name.partition("::")
        tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name
    assert [trap.split()[0] for trap in TRAPS] == [str(number) for number in range(1, 11)]


def forked(template: Template, source: str, *arguments: str) -> Box:
    """Run a program in a fork."""
    given = {"connection": None, "source": source, "arguments": list(arguments), "files": {}}
    return start.start_fork(template, RunFolder(within=template.folder), LIMITS, given).result()


def started(rung: str, source: str, template: Template) -> Box:
    """Run a program in a box made anew, or in a fork."""
    if rung == "warm":
        return forked(template, source)
    return start.start_box([sys.executable, "-c", source], RunFolder(), LIMITS).result()


def end_of(box: Box) -> End:
    """Wait for it."""
    return box.ended.result(timeout=60)


def ids_of(box: Box) -> set[int]:
    """The real, effective, saved and file system ids of users and groups of a box's programs, as the machine sees them."""
    ids: set[int] = set()
    for process in box._members():
        if Path(f"/proc/{process}/comm").read_text() == "bwrap\n":
            continue  # one stays outside, one is process 1, with no capabilities (see test_takes_over_process_1.py)
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        ids |= {int(word) for line in lines if line.startswith(("Uid:", "Gid:")) for word in line.split()[1:]}
    return ids


def running(rung: str, template: Template) -> Box:
    """A box in which a program sleeps."""
    box = started(rung, "import os, time; os.fork(); print('here', flush=True); time.sleep(60)", template)
    deadline = time.monotonic() + 20
    while box._tail.count(b"here") < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    return box


@ROOT_ONLY
def test_1_what_roots_box_runs_is_nobody_outside(rung, template):
    """Every process of it has one id in all places, which is nobody's, let alone root's."""
    box = running(rung, template)
    try:
        assert ids_of(box) == {box.user_id}
        assert box.user_id >= 30000
    finally:
        box.stop()
        end_of(box)


@ROOT_ONLY
def test_1_no_two_kernels_of_root_are_the_same_user(rung, template):
    """Nor the template's: what the kernel counts for each user, or lets the same user do, is never a neighbour's."""
    boxes = [running(rung, template) for _ in range(2)]
    try:
        first, second = (ids_of(box) for box in boxes)
        assert first
        assert second
        assert not first & second
        assert template.user_id not in first | second
    finally:
        for box in boxes:
            box.stop()
            end_of(box)


@ROOT_ONLY
def test_2_what_lies_below_a_closed_folder_of_roots_is_shown(rung, tmp_path, monkeypatch):
    """As Python below /root: the throw-away user cannot reach it outside, and reads it in the box."""
    closed = tmp_path / "closed"
    (closed / "python").mkdir(parents=True)
    (closed / "python" / "module.py").write_text("word = 'shown'")
    (closed / "secret").write_text("hidden")
    (closed / "python").chmod(0o755)
    closed.chmod(0o700)
    place = f"/tmp/{secrets.token_hex(4)}/closed/python"
    outside = subprocess.run(
        ["setpriv", "--reuid=60001", "--clear-groups", "cat", closed / "python" / "module.py"], capture_output=True
    )
    assert b"Permission denied" in outside.stderr
    seen = warm.view()
    for module in (start, warm):
        monkeypatch.setattr(module, "view", lambda: replace(seen, binds=(*seen.binds, (str(closed / "python"), place))))
    made = keeper().call(lambda: Template(["json"])).result()
    try:
        made.wait_until_ready(60)
        source = f"import os, sys; sys.path.append({place!r}); import module; print(module.word, os.listdir({place!r} + '/..'))"
        assert end_of(started(rung, source, made)).tail == "shown ['python']\n"
    finally:
        made.close()


def test_3_every_folder_above_what_is_shown_can_be_listed(attack):
    """By the student's user; what is shown can be used at all only then."""
    source = """
import os, sys
for place in sys.argv[1:]:
    while place != "/":
        if os.path.isdir(place):
            os.listdir(place)
        elif not os.path.lexists(place):
            print("missing", place)
        place = os.path.dirname(place)
print("done")
"""
    assert attack(source, *(place for _, place in warm.view().binds)).lines == ["done"]


def test_4_a_fork_has_a_proc_of_its_own(template):
    """With its own processes in it, and no other's."""
    source = "import os; print(sorted(int(name) for name in os.listdir('/proc') if name.isdigit()), os.getpid())"
    assert end_of(forked(template, source)).tail == "[1, 2] 2\n"


@ROOT_ONLY
def test_4_it_could_not_with_parts_of_it_covered(monkeypatch):
    """What the line of shell in front of the template is there for: a read-only part of /proc is enough to refuse another."""
    whole = bwrap.template_inner
    cover = 'mount --bind /proc/bus /proc/bus && mount -o remount,bind,ro /proc/bus && exec "$@"'

    def covered(argv, paths, *, user_id):
        words = whole(argv, paths, user_id=user_id)
        return [*words[:2], cover, *words[3:]]

    monkeypatch.setattr(bwrap, "template_inner", covered)
    made = keeper().call(lambda: Template(["json"])).result()
    try:
        made.wait_until_ready(60)
        end = end_of(forked(made, "print('here')"))
        assert end.code == 1
        assert "mount /proc: Operation not permitted" in end.tail
    finally:
        made.close()


def test_6_a_template_outlives_the_thread_that_asked_for_it():
    """The keeper's thread started it, whoever asked; a fork works later."""
    with ThreadPoolExecutor(1) as thread:
        made = thread.submit(lambda: keeper().call(lambda: Template(["json"])).result()).result()
    try:
        made.wait_until_ready(60)
        assert end_of(forked(made, "print('here')")).tail == "here\n"
    finally:
        made.close()


def test_6_after_sigkill_of_the_grader_no_template_and_no_kernel_runs_on():
    """The kernel ends both; their run folder is removed by the next grader that starts (see test_folder.py)."""
    source = """
import time
from autograder.sandbox.folder import RunFolder
from autograder.sandbox.keeper import keeper
from autograder.sandbox.policy import Limits
from autograder.sandbox.start import start_fork
from autograder.sandbox.warm import Template
template = keeper().call(lambda: Template(["json"])).result()
template.wait_until_ready(60)
given = {"connection": None, "source": "import os, time; os.fork(); time.sleep(61)", "arguments": [], "files": {}}
box = start_fork(template, RunFolder(within=template.folder), Limits(), given).result()
print(template._process.pid, box.process.pid, template.folder.path, flush=True)
time.sleep(60)
"""
    grader = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
    outermost, first, folder = grader.stdout.readline().split()
    handles = [os.pidfd_open(int(process)) for process in (outermost, first)]
    grader.kill()
    grader.communicate()
    try:
        for handle in handles:
            assert select.select([handle], [], [], 10)[0], "it runs on"
    finally:
        for handle in handles:
            os.close(handle)
        subprocess.run(["rm", "-rf", folder], check=True)


def test_8_zmq_has_its_internet_socket_which_leads_nowhere(attack):
    """ipykernel binds one; the filter of system calls must not end it for that."""
    source = """
import zmq
context = zmq.Context()
print(context.socket(zmq.PUB).bind_to_random_port("tcp://127.0.0.1") > 0)
socket = context.socket(zmq.REQ)
socket.linger = 0
socket.connect("tcp://127.0.0.1:1")
print(socket.poll(50))
context.destroy(linger=0)
"""
    assert attack(source).lines == ["True", "0"]


@pytest.mark.slow
@pytest.mark.parametrize("refused", ["clone", "mount"])
def test_10_where_no_namespaces_can_be_made_inside_a_box_kernels_are_cold(refused, monkeypatch, tmp_path):
    """As behind Ubuntu's profile and in many containers, which refuse them to children of bubblewrap, or all rights in them."""
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    new_users = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, 0x10000000, 0x10000000)
    rules.add_rule(pyseccomp.ERRNO(1), refused, *([new_users] if refused == "clone" else []))
    with open(tmp_path / "filter", "w+b") as file:
        rules.export_bpf(file)
        file.seek(0)
        refuse = file.read()
    before = f"""
import ctypes, runpy, sys
class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))
instructions = ctypes.create_string_buffer(bytes.fromhex({refuse.hex()!r}))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, ctypes.byref(Program({len(refuse) // 8}, ctypes.addressof(instructions))), 0, 0):
    sys.exit("no filter")
sys.argv.pop(0)
runpy.run_module("autograder.template.process", run_name="__main__", alter_sys=False)
"""
    whole = bwrap.template_inner

    def behind(argv, paths, *, user_id):
        python, _, module, *rest = argv
        return whole([python, "-c", before, module, *rest], paths, user_id=user_id)

    monkeypatch.setattr(bwrap, "template_inner", behind)
    monkeypatch.setattr(launch, "_template", None)
    monkeypatch.setattr(launch, "_refused", "")
    monkeypatch.setattr(launch, "PRELOAD", ("json",))
    assert launch.template() is None
    assert refused in launch.why_cold()
    assert "not permitted" in launch.why_cold()
