"""Run whole files on the grader's checks in this process: no kernel and no box, so a few hundred take a minute."""

from __future__ import annotations

import codeop
import contextlib
import gc
import io
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from autograder.checks.check import Check, Lab
from autograder.grading.course import load_lab
from autograder.grading.judge import Judge
from autograder.grading.report import CheckResult
from autograder.grading.source import chunks
from autograder.probe.run import run
from autograder.trace.trace import Trace

ROOT = Path(__file__).resolve().parents[2]
FIRST = "lab01_batch_norm"


@cache
def judge(seed: int, name: str) -> Judge:
    """The judge of a seed and a lab, shared by all files."""
    return Judge(lab(name), seed)


@cache
def lab(name: str) -> Lab:
    """A lab's checks."""
    return load_lab(ROOT, name)


@contextlib.contextmanager
def _quiet_and_tidy() -> Iterator[None]:
    """What a student's file may leave behind in a kernel must not reach the next file in this process."""
    dtype, grad, threads, numpy_errors = (
        torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_num_threads(), np.geterr()
    )  # fmt: skip
    deterministic, anomaly = torch.are_deterministic_algorithms_enabled(), torch.is_anomaly_enabled()
    sink = io.StringIO()
    # A suspended `with torch.no_grad()` of an earlier file that is collected in the middle of this one would turn gradients on.
    gc.freeze()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
            yield
    finally:
        gc.collect()  # and one of this file ends here
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(grad)
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(deterministic)
        torch.autograd.set_detect_anomaly(anomaly)
        torch.set_default_device(None)
        torch.set_printoptions(profile="default")
        np.seterr(**numpy_errors)


def names_of(text: str) -> dict[str, Any]:
    """Run a file as the grader's kernel does, cell by cell; a cell that fails is left behind."""
    names: dict[str, Any] = {"__name__": "__main__"}
    compiler = codeop.Compile()  # remembers `from __future__`, as IPython does
    for chunk in chunks(text):
        try:
            exec(compiler(chunk.source, f"<line {chunk.line}>", "exec"), names)
        except (Exception, SystemExit):
            continue
    return names


def graded(text: str, seed: int, exercises: tuple[str, ...] = (), name: str = FIRST) -> list[CheckResult]:
    """The results of a file, in some exercises or in all, with the diagnosis of those that failed."""
    checks, decides = asked(exercises or lab(name).contract, name), judge(seed, name)
    with _quiet_and_tidy():
        names = names_of(text)
        given: dict[str, list[Trace]] = {check.name: run(decides.scenarios(check), names) for check in checks}
    results = []
    for check in checks:
        result = decides.verdict(check, given[check.name])
        if not result.passed:
            result = CheckResult(**{**vars(result), "diagnosis": decides.diagnosis(check, given)})
        results.append(result)
    return results


def asked(exercises: tuple[str, ...], name: str) -> list[Check]:
    """The checks of the exercises, also those that ask for more than the contract does, as the notebook says."""
    return [check for check in lab(name).checks if check.exercise in exercises]
