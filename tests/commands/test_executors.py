"""The words that say where submissions are graded: which fit together, and what is not imported for them."""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys

import pytest

from autograder.commands.executors import add_executor, crew_of
from autograder.errors import UsageError
from autograder.grading.pool import Crew
from autograder.sandbox import processors


def given(*words: str) -> argparse.Namespace:
    """The words as the command has them."""
    parser = argparse.ArgumentParser()
    add_executor(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize(
    ("words", "count", "workers", "at_once"),
    [
        (("--jobs=3",), 10, 3, 3),
        (("--jobs=3", "--at-once=5"), 2, 2, 5),
        (("--jobs=3", "--executor=dask"), 10, 3, 3),
        (("--jobs=3",), 0, 1, 3),
        ((), 2, 2, 3),
    ],
)
def test_no_more_workers_than_submissions(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], count: int, workers: int, at_once: int
) -> None:
    monkeypatch.setattr(processors, "processors", lambda: 6)
    crew = crew_of(given(*words), count)
    assert (crew.workers, crew.at_once) == (workers, at_once)


@pytest.mark.parametrize(
    ("may_use", "words", "crew"),
    [
        (4, (), Crew(2, 3, 1.5, 2)),
        (6, (), Crew(3, 3, 1.5, 3)),
        (6, ("--jobs=1",), Crew(1, 3, 1, 1)),
        (6, ("--jobs=6",), Crew(6, 2, 2, 3)),
        (6, ("--at-once=5",), Crew(3, 5, 2.5, 3)),
    ],
)
def test_the_processors_that_count_are_those_that_may_be_used(
    monkeypatch: pytest.MonkeyPatch, may_use: int, words: tuple[str, ...], crew: Crew
) -> None:
    """Not those that the machine has: a part of it may be ours."""
    monkeypatch.setattr(processors, "processors", lambda: may_use)
    assert crew_of(given(*words), 10) == crew


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--jobs=0", "--jobs must be at least 1"),
        ("--at-once=0", "--at-once must be at least 1"),
        ("--scheduler=tls://a:1", "--scheduler is about a cluster; add --executor dask"),
        ("--tls-ca=ca.pem", "--tls-ca is about a cluster"),
        ("--insecure-scheduler", "--insecure-scheduler is about a cluster"),
        ("--executor=dask --tls-key=key.pem", "--tls-key is about other machines; add --scheduler"),
        ("--executor=dask --insecure-scheduler", "--insecure-scheduler is about other machines"),
        ("--executor=dask --scheduler=tls://a:1 --jobs=2", "--jobs is about this machine"),
        ("--executor=dask --scheduler=tcp://a:1", "--insecure-scheduler"),
        ("--executor=dask --scheduler=somewhere", "tls://HOST:PORT"),
        ("--executor=dask --scheduler=tls://a:1", "needs certificates"),
        ("--executor=dask --scheduler=tls://a:1 --tls-ca=no.pem", "no file that can be read"),
    ],
)
def test_words_that_do_not_fit_end_with_a_sentence(words: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        crew_of(given(*words.split()), 3)


def test_without_dask_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"needs distributed and cryptography: pip install"):
        crew_of(given("--executor=dask"), 3)


def test_dask_is_imported_only_when_it_is_asked_for() -> None:
    """It takes most of a second; nor is torch needed to say the words."""
    source = (
        "import argparse, sys\n"
        "from autograder.commands.executors import add_executor, crew_of\n"
        "parser = argparse.ArgumentParser(); add_executor(parser)\n"
        "print([name for name in ('torch', 'distributed', 'dask', 'nbformat') if name in sys.modules])\n"
        "crew_of(parser.parse_args(['--jobs=2']), 5)\n"
        "print([name for name in ('distributed', 'dask') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["[]", "[]"]
