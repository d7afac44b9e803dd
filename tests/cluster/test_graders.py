"""The graders of one worker: a call each, an error as it is, a dead one replaced, none left behind. No Dask, no student code."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from autograder.cluster.fitness import Wanted, versions, wanted
from autograder.cluster.graders import Grader, Graders
from autograder.errors import ClusterError

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
LAB = "lab01_batch_norm"
HERE = wanted(ROOT, LAB, sandboxed=False, local=True)


def ask(graders: Graders | Grader, call: Callable[..., Any], *arguments: object) -> Any:
    """What the call returned; what it raised is raised."""
    well, value = pickle.loads(graders.ask(pickle.dumps((call, arguments, {}))))
    if not well:
        raise value
    return value


@pytest.fixture(scope="module")
def one() -> Iterator[Graders]:
    """One grader, for the calls that leave it whole."""
    graders = Graders(1, HERE)
    yield graders
    graders.close()


def test_calls_run_in_the_main_thread_of_another_process(one: Graders) -> None:
    """There alarms ring, as the probe needs."""
    assert ask(one, threading.get_native_id) == ask(one, os.getpid)
    assert ask(one, os.getpid) != os.getpid()
    assert ask(one, os.getpid) == ask(one, os.getpid)


@pytest.mark.parametrize(
    ("call", "argument", "error"),
    [(int, "x", ValueError), (sys.exit, 3, SystemExit), (os.stat, "/nowhere/at/all", FileNotFoundError)],
)
def test_an_error_comes_back_as_it_is_and_the_grader_lives(
    one: Graders, call: Callable[..., Any], argument: object, error: type[BaseException]
) -> None:
    before = ask(one, os.getpid)
    with pytest.raises(error):
        ask(one, call, argument)
    assert ask(one, os.getpid) == before


def test_a_dead_one_is_said_to_be_dead_and_replaced() -> None:
    graders = Graders(1, HERE)
    try:
        first = ask(graders, os.getpid)
        with pytest.raises(ClusterError, match=r"ended \(exit code 7\) with work in hand"):
            ask(graders, os._exit, 7)
        assert ask(graders, os.getpid) != first
    finally:
        graders.close()


def test_graders_that_wait_begin_when_they_are_asked() -> None:
    """Nobody has to say what a grader is that may never be needed; and none begins when all is over."""
    graders = Graders(1, HERE, at_once=False)
    try:
        assert graders.about() == []
        pid = ask(graders, os.getpid)
        assert [about.trouble for about in graders.about()] == [""]
        assert ask(graders, os.getpid) == pid
    finally:
        graders.close()
    late = Graders(1, HERE, at_once=False)
    late.close()
    with pytest.raises(ClusterError, match="have ended"):
        ask(late, os.getpid)


def test_each_thread_gets_a_grader_of_its_own() -> None:
    """Two that sleep do so at the same time: both have begun before either has ended."""
    graders, spans = Graders(2, HERE), []
    graders.about()

    def sleep() -> None:
        pid, begun = ask(graders, os.getpid), time.monotonic()
        ask(graders, time.sleep, 1)
        spans.append((begun, time.monotonic(), pid))

    threads = [threading.Thread(target=sleep) for _ in range(2)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        graders.close()
    (begun, ended, _), (other_begun, other_ended, _) = spans
    assert max(begun, other_begun) < min(ended, other_ended)


@pytest.mark.parametrize("busy", [False, True])
def test_closing_ends_the_process_also_in_the_middle_of_a_call(busy: bool) -> None:
    graders = Graders(1, HERE)
    pid = ask(graders, os.getpid)
    died: list[BaseException] = []

    def hang() -> None:
        try:
            ask(graders, time.sleep, 300)
        except ClusterError as error:
            died.append(error)

    thread = threading.Thread(target=hang)
    if busy:
        thread.start()
        time.sleep(0.2)
    graders.close()
    assert not psutil.pid_exists(pid)
    if busy:
        thread.join(30)
        assert len(died) == 1


PARENT = """
import os, pickle, sys, threading, time
from pathlib import Path
from autograder.cluster.graders import Graders
from autograder.cluster.fitness import wanted
graders = Graders(1, wanted(Path(sys.argv[1]), sys.argv[2], sandboxed=False, local=True))
print(pickle.loads(graders.ask(pickle.dumps((os.getpid, (), {}))))[1], flush=True)
graders.ask(pickle.dumps((time.sleep, (300,), {})))
"""


def test_it_ends_with_the_worker_that_was_killed() -> None:
    """In the middle of a call, and although nobody is left to tell it."""
    worker = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(ROOT), LAB], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert worker.stdout is not None
    grader = psutil.Process(int(worker.stdout.readline()))
    worker.kill()
    worker.wait(30)
    worker.stdout.close()
    _, alive = psutil.wait_procs([grader], timeout=30)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


@pytest.mark.parametrize(
    ("other", "trouble"),
    [
        ({"version": "0" * 64}, "another version of lab01_batch_norm or of the grader"),
        ({"lab": "lab99_none"}, "has no lab99_none"),
        ({"packages": {**versions(), "numpy": "1.0"}}, "it has numpy"),
        ({"packages": {**versions(), "python": "2.7"}}, "where the class is graded with 2.7"),
        ({"course": "/nowhere"}, "has no lab01_batch_norm"),
    ],
)
def test_one_that_does_not_fit_says_why_and_takes_no_call(other: dict[str, Any], trouble: str) -> None:
    graders = Graders(1, Wanted(**{**vars(HERE), **other}))
    try:
        [about] = graders.about()
        assert trouble in about.trouble
        with pytest.raises(ClusterError, match="does not grade"):
            ask(graders, os.getpid)
    finally:
        graders.close()


def test_one_that_dies_at_once_is_trouble_and_no_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker says so; the command names it."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    graders = Graders(1, HERE)
    try:
        [about] = graders.about()
        assert "ended (exit code 1)" in about.trouble
    finally:
        graders.close()
