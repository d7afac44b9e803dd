"""A class graded by two workers over TLS: the same reports as at home, each submission once, whatever dies on the way."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from autograder.cluster import client
from autograder.cluster.executor import BrokenCluster, ClusterExecutor
from autograder.cluster.fitness import wanted
from autograder.cluster.local import local_cluster
from autograder.errors import ClusterError
from autograder.grading.pool import Crew, Work, grade_all, grade_many
from autograder.grading.version import version_of
from autograder.sandbox.policy import Limits
from tests.cluster.loopback import Loopback, make_certificates, wait_until
from tests.plugins.conftest import LAB, Course
from tests.submissions import odd

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

SLOW = "import time\ntime.sleep(1)\n"
CLASS = {
    **{f"right{number}": odd.as_bytes(odd.solved(double=SLOW + odd.DOUBLE)) for number in range(6)},
    **{
        f"wrong{number}": odd.as_bytes(odd.solved(double=SLOW + "def double(x):\n    return x * x\n"))
        for number in range(4)
    },
    "exits": odd.as_bytes(odd.solved(triple="import os\nos._exit(0)\n")),
    "cut": odd.as_bytes(odd.solved())[:300],
}


def start(course: Course, *words: str) -> subprocess.Popen[str]:
    """Start `autograder grade` on the tiny lab."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    env.pop("NORMALIZATION_COURSE", None)
    command = [sys.executable, "-m", "autograder", "grade", LAB, "--seed=7", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=course.root, env=env, stdout=pipe, stderr=pipe, text=True)


def grade(course: Course, *words: str) -> tuple[int, str, str]:
    """Run it to its end: the exit code, and what it said."""
    run = start(course, *words)
    out, err = run.communicate(timeout=300)
    return run.returncode, out, err


def reports(course: Course) -> dict[str, bytes]:
    """Each student's report."""
    return {path.stem: path.read_bytes() for path in (course.root / "reports" / LAB).glob("*.json")}


def hand_in(course: Course) -> Course:
    """The class hands in."""
    for student, notebook in CLASS.items():
        course.submit(student, notebook)
    return course


@pytest.fixture(scope="module")
def at_home(
    course_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, bytes], dict[str, object]]:
    """The reports and the scores of the class, graded by one process of this machine."""
    root = tmp_path_factory.mktemp("home") / "course"
    shutil.copytree(course_template, root)
    course = hand_in(Course(root))
    code, _, err = grade(course, "--jobs=1")
    assert code == 0, err
    return reports(course), {student: course.scores(student) for student in CLASS}


def test_a_worker_killed_in_the_middle_costs_nobody_anything(
    two_workers: Loopback, own: Course, at_home: tuple[dict[str, bytes], dict[str, object]]
) -> None:
    """Everyone is graded once; report and gradebook are those of a run at home, byte by byte."""
    run = start(hand_in(own), *two_workers.words())
    try:
        wait_until(lambda: reports(own) or run.poll() is not None)
        assert run.poll() is None, run.communicate()
        victim, other = two_workers.worker_processes()
        victim.kill()
        out, err = run.communicate(timeout=300)
    finally:
        run.kill()
    assert run.returncode == 0, err
    assert not victim.is_running()
    assert other.is_running()
    assert reports(own) == at_home[0]
    assert {student: own.scores(student) for student in CLASS} == at_home[1]
    assert "not graded" not in err
    assert all(out.count(student) == 1 for student in CLASS)
    two_workers.wait_for(2)  # its nanny has started another one


def works(course: Path, **other: str) -> list[Work]:
    """The class as work items."""
    version = other.get("version", version_of(course, LAB))
    return [Work(LAB, version, student, raw, "", 7, Limits(), True) for student, raw in CLASS.items()]


def test_a_grader_that_dies_costs_its_bundle_and_not_its_worker(two_workers: Loopback) -> None:
    """What it had in hand comes back as broken, to be graded again; the others are graded, and the next call finds a new grader."""
    with two_workers.cluster().opened(two_workers.wanted()) as executor:
        before = {process.pid for process in two_workers.worker_processes()}
        died = executor.submit(os._exit, 5)
        with pytest.raises(ClusterError, match=r"ended \(exit code 5\) with work in hand"):
            died.result(60)
        found = list(grade_many(works(two_workers.course), executor, Crew(2, 2)))
        assert {process.pid for process in two_workers.worker_processes()} == before
    assert sorted(done.student for done in found) == sorted(CLASS)
    assert [done.trouble for done in found] == [""] * len(CLASS)


class Deadly(Executor):
    """A cluster on which some students' submissions end their grader, wherever they go."""

    def __init__(self, cluster: Executor, students: frozenset[str]) -> None:
        self.cluster, self.students = cluster, students

    def submit(self, call: Callable[..., Any], /, *args: Any, **words: Any) -> Future[Any]:
        if self.students & {work.student for work in args[0]}:
            return self.cluster.submit(os._exit, 5)
        return self.cluster.submit(call, *args, **words)


def test_suspects_are_graded_where_the_class_was_and_only_deadly_ones_stay_without(two_workers: Loopback) -> None:
    """No graders are begun for their sake but those in the place of lost ones."""
    killers, opened = frozenset({"right1", "wrong2"}), []
    given = {work.student: work for work in works(two_workers.course)}

    @contextmanager
    def open_crew(crew: Crew) -> Iterator[Executor]:
        opened.append(crew)
        with two_workers.cluster().opened(two_workers.wanted()) as executor:
            yield Deadly(executor, killers)

    found = list(grade_all(list(CLASS), given.__getitem__, open_crew, Crew(2, 2)))
    assert sorted(done.student for done in found) == sorted(CLASS)
    assert {done.student for done in found if done.report is None} == killers
    assert all("with work in hand" in done.trouble for done in found if done.report is None)
    assert opened == [Crew(2, 2)]


def test_graders_end_with_the_run_and_after_a_worker_was_killed(two_workers: Loopback) -> None:
    """No process of a run is left on a worker, not even when nobody could tell it to end."""

    def graders() -> list[str]:
        lines = (" ".join(process.cmdline()) for process in two_workers.processes() if process.is_running())
        return [line for line in lines if "autograder.cluster.process" in line]

    with two_workers.cluster().opened(two_workers.wanted()) as executor:
        assert len(graders()) == 2
        pid = executor.submit(os.getpid).result(60)
        wait_until(lambda: len(two_workers.worker_processes()) == 2)
        for process in two_workers.worker_processes():
            process.kill()
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"))
    two_workers.wait_for(2)
    wait_until(lambda: graders() == [])


def test_another_version_of_the_lab_is_named_and_nothing_is_graded(two_workers: Loopback, own: Course) -> None:
    """One more line in the checks of the machine that asks is another version."""
    with open(own.root / "solutions" / LAB / "checks.py", "a") as file:
        file.write("# a comment\n")
    code, _, err = grade(hand_in(own), *two_workers.words())
    assert code == 3
    assert "Nothing was graded, because these workers must not grade" in err
    assert err.count("it has another version of lab09_tiny or of the grader") == 2
    assert "Traceback" not in err
    assert reports(own) == {}


def test_another_version_of_a_package_is_named(two_workers: Loopback) -> None:
    """Other digits, or other words of an error, would be another report."""
    packages = {**two_workers.wanted().packages, "torch": "1.0"}
    with (
        pytest.raises(ClusterError, match=r"it has torch .*, where the class is graded with 1\.0"),
        two_workers.cluster().opened(two_workers.wanted(packages=packages)),
    ):
        pass


def test_work_of_another_version_is_trouble_also_when_nobody_looked_before(two_workers: Loopback) -> None:
    """A worker that joins a run later is not asked what it is; each work item says what it must be."""
    with two_workers.cluster().opened(two_workers.wanted()) as executor:
        found = list(grade_many(works(two_workers.course, version="0" * 64)[:1], executor))
    assert [done.report for done in found] == [None]
    assert "has another version" in found[0].trouble


def test_a_worker_without_a_sandbox_is_named_and_nothing_is_graded(two_workers: Loopback, own: Course) -> None:
    """It could only run student code as itself."""
    hidden = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", "/dev/null", shutil.which("bwrap") or ""]
    hidden += ["--unshare-pid", "--proc", "/proc", "--die-with-parent", "--"]  # so that it ends when it is told to
    worker = two_workers.start_worker("bare", *hidden)
    try:
        two_workers.wait_for(3)
        code, _, err = grade(hand_in(own), *two_workers.words())
    finally:
        two_workers.stop(worker)
    assert code == 3
    assert err.count("The program bwrap is missing") == 1
    assert reports(own) == {}
    two_workers.wait_for(2)


@pytest.mark.parametrize("shown", ["certificates of others", "no TLS"])
def test_nobody_gets_in_without_a_certificate_of_the_cluster(
    two_workers: Loopback, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither with another authority's certificate nor in the clear; the same client gets in with the right one."""
    monkeypatch.setattr(client, "CONNECT_S", 3.0)
    assert two_workers.cluster().size()[0] == 2
    stranger = two_workers.cluster(make_certificates(tmp_path / "others"))
    if shown == "no TLS":
        plain = two_workers.address.replace("tls://", "tcp://")
        stranger = client.Cluster(plain, client.Security(require_encryption=False))
    with pytest.raises(ClusterError, match="cannot be reached"):
        stranger.size()


def test_a_cluster_of_this_machine_needs_no_set_up(
    own: Course, at_home: tuple[dict[str, bytes], dict[str, object]]
) -> None:
    """The same path, with keys made for the run; and the same reports."""
    code, _, err = grade(hand_in(own), "--executor=dask", "--jobs=2")
    assert code == 0, err
    assert err == ""
    assert reports(own) == at_home[0]


def test_on_this_machine_some_of_the_graders_begin_and_the_others_after_a_first_result(course_template: Path) -> None:
    """Each begins with two processes that import torch: all at once would make the first result late."""

    def graders() -> set[int]:
        below = psutil.Process().children(recursive=True)
        return {process.pid for process in below if "autograder.cluster.process" in process.cmdline()}

    needs = wanted(course_template, LAB, sandboxed=False, local=True)
    with local_cluster(3, needs) as executor:
        assert len(graders()) == 1
        assert {executor.submit(os.getpid).result(60)} == graders()
        for call in [executor.submit(time.sleep, 2) for _ in range(3)]:
            call.result(60)
        assert len(graders()) == 3
    assert graders() == set()


def test_a_run_ends_when_its_workers_or_its_scheduler_are_gone(
    course_template: Path, tls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not wait for ever, and it gives no grade."""
    monkeypatch.setattr(client, "CONNECT_S", 3.0)
    alone = Loopback(course_template, tls, tmp_path)
    try:
        alone.start_scheduler()
        worker = alone.start_worker("only")
        with alone.cluster().opened(alone.wanted(sandboxed=False)) as executor:
            deserted = ClusterExecutor(executor._client, executor._run, deserted_s=1)
            waiting, other = executor.submit(time.sleep, 300), deserted.submit(time.sleep, 300)
            alone.stop(worker)
            with pytest.raises(BrokenCluster, match="No worker was left"):
                other.result(60)
            with pytest.raises(BrokenCluster):
                deserted.submit(abs, 1)
            assert alone.scheduler is not None
            alone.scheduler.send_signal(signal.SIGKILL)
            with pytest.raises(BrokenCluster, match="connection to the scheduler was lost"):
                waiting.result(60)
            [done] = grade_many(works(course_template)[:1], executor)
            assert done.broken
            assert json.dumps(done.trouble)
    finally:
        alone.stop()
