"""Run whole files on the grader's checks in this process: no kernel and no box, so a few hundred take a minute."""

from __future__ import annotations

import codeop
import contextlib
import gc
import io
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import torch

from autograder.checks.check import Check
from autograder.grading.judge import Judge
from autograder.grading.report import CheckResult
from autograder.grading.source import chunks
from autograder.probe.run import run
from autograder.trace.trace import Trace
from solutions.lab01_batch_norm.checks import LAB


@cache
def judge(seed: int) -> Judge:
    """The judge of a seed, shared by all files."""
    return Judge(LAB, seed)


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


def graded(text: str, seed: int, exercises: tuple[str, ...] = LAB.contract) -> list[CheckResult]:
    """The results of a file, with the diagnosis of those that failed."""
    with _quiet_and_tidy():
        names = names_of(text)
        given: dict[str, list[Trace]] = {}
        for check in asked(exercises):
            given[check.name] = run(judge(seed).scenarios(check), names)
    results = []
    for check in asked(exercises):
        result = judge(seed).verdict(check, given[check.name])
        if not result.passed:
            found = judge(seed).diagnosis(check, given)
            result = CheckResult(**{**vars(result), "diagnosis": found})
        results.append(result)
    return results


def asked(exercises: tuple[str, ...]) -> list[Check]:
    """The checks of the contract that belong to the exercises."""
    return [check for check in LAB.checks if check.contract and check.exercise in exercises]
