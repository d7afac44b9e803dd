"""Grade one submission: bytes of a notebook, or the text of a Python file, become a report.

A pure function of the submission, the lab, the seed and the limits: no database, no course folder, no clock in the result. Whatever
is wrong with a submission is in the report; only our own failures are exceptions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from autograder.checks.check import Check, Lab
from autograder.errors import AutograderError
from autograder.grading import outputs
from autograder.grading.course import CourseLab
from autograder.grading.judge import Judge
from autograder.grading.naming import named
from autograder.grading.report import SANDBOXED, UNSANDBOXED, CheckResult, Graded, Report, total
from autograder.grading.run import Item, Played, in_background, play, playing
from autograder.grading.source import Chunk, chunks, mentions
from autograder.grading.submission import Cell, Grafted, UnreadableSubmission, graft, read_notebook
from autograder.kernel.outputs import CellError
from autograder.sandbox.policy import Limits
from autograder.trace.trace import Trace

if TYPE_CHECKING:
    from nbformat import NotebookNode

SKIP_TAG = "skip-when-grading"  # on a given cell of ours that nothing graded needs: an experiment of half a minute


@dataclass(frozen=True)
class Prepared:
    """A submission that can be played: our notebook with the student's code in it; or why it cannot be read."""

    grafted: Grafted
    items: tuple[Item, ...]
    unreadable: str = ""


def grade_notebook(
    raw: bytes | UnreadableSubmission,
    lab: CourseLab,
    *,
    seed: int,
    limits: Limits,
    sandboxed: bool = True,
    student: str = "",
    judge: Judge | None = None,
) -> Graded:
    """Grade a submitted notebook; an unreadable one gets no points and a sentence that says why.

    `raw` is what `read_file` returned, or what it raised.
    """
    judge = judge or Judge(lab.lab, seed)
    prepared = prepare(raw, lab, judge)
    played = Played() if prepared.unreadable else play(prepared.items, judge, limits, sandboxed=sandboxed)
    return conclude(prepared, played, judge, student=student, sandboxed=sandboxed)


def prepare(raw: bytes | UnreadableSubmission, lab: CourseLab, judge: Judge) -> Prepared:
    """Graft what was handed in onto the lab's release; nothing runs yet."""
    why = ""
    try:
        if isinstance(raw, UnreadableSubmission):
            raise raw
        submitted = read_notebook(raw)
    except UnreadableSubmission as error:
        submitted, why = _empty(), str(error)
    grafted = graft(lab.release, submitted)
    items = tuple(_item(cell, grafted.notebook.cells[cell.index], judge) for cell in grafted.cells)
    return Prepared(grafted, items, why)


def conclude(prepared: Prepared, played: Played, judge: Judge, *, student: str, sandboxed: bool) -> Graded:
    """Judge what was played, and write the report and the notebook."""
    items, grafted = prepared.items, prepared.grafted
    asked = [judge.lab.check(item.check) for item in items if item.check is not None]
    if prepared.unreadable:
        results = tuple(judge.verdict(check, None, prepared.unreadable) for check in asked)
        notes: tuple[str, ...] = (prepared.unreadable,)
    else:
        sources = [cell.source for cell in grafted.cells if cell.kind == "student" and cell.origin != "release"]
        results = _judged(asked, judge, played, sources, items)
        notes = (*grafted.notes, *played.notes)
    report = total(judge.lab.name, student, judge.seed, results, _sandbox(sandboxed), notes)
    return Graded(report, _written(grafted.notebook, items, played, results))


def grade_source(
    text: str, lab: Lab, *, seed: int, limits: Limits, sandboxed: bool = True, student: str = ""
) -> Report:
    """Grade a plain Python file on the names of the contract, as if its text stood in the lab's solution cells."""
    judge = Judge(lab, seed)
    parts = chunks(text)
    asked = [check for check in lab.checks if check.contract]
    items = [*(Item(part.source) for part in parts), *(Item(check=check.name) for check in asked)]
    future = in_background(playing(items, judge, limits, sandboxed=sandboxed))
    try:
        with suppress(AutograderError):  # it comes out again where a verdict needs it
            for check in asked:  # what the reference shows, while the kernel runs
                judge.expected(check)
        played = future.result()
    finally:
        future.cancel()
    results = _judged(asked, judge, played, [part.source for part in parts], items)
    notes = (*_broken(parts, played), *played.notes)
    return total(lab.name, student, seed, results, _sandbox(sandboxed), notes)


def _item(cell: Cell, node: NotebookNode, judge: Judge) -> Item:
    if cell.kind == "check" and cell.grade_id in judge.lab.names:
        return Item(check=cell.grade_id)
    skip = cell.origin == "release" and SKIP_TAG in node["metadata"].get("tags", ())
    return Item(cell.source if cell.kind == "student" else "", skip=skip)


def _judged(
    asked: Sequence[Check], judge: Judge, played: Played, sources: Sequence[str], items: Sequence[Item]
) -> tuple[CheckResult, ...]:
    seen = mentions(sources, {check.exercise for check in asked if not check.builtins})
    results, undefined = [], set()
    for check in asked:
        traces = played.traces.get(check.name)
        result = judge.verdict(check, traces, played.reasons.get(check.name, ""))
        if traces and not result.passed and all(_undefined(trace, check.exercise) for trace in traces):
            same = {other.name for other in asked if other.exercise == check.exercise}
            why = _why_undefined(check, same, items, played) or "the submission does not define it"
            result = replace(result, message=f"{check.exercise} is not defined: {why}", code=None)
            undefined.add(check.name)
        if seen.get(check.exercise):
            result = replace(result, evidence=(*result.evidence, *seen[check.exercise]))
        results.append(result)
    return tuple(named(results, judge, {name: t for name, t in played.traces.items() if name not in undefined}))


def _undefined(trace: Trace, name: str) -> bool:
    failure = trace.failure
    return failure is not None and failure.type == "NameError" and failure.message.startswith(f"{name} is not defined")


def _why_undefined(check: Check, same: set[str], items: Sequence[Item], played: Played) -> str:
    """Find the cell that should have defined a name: the one that says so, else a failed one right above the check."""
    defines = re.compile(rf"^\s*(class|def)\s+{check.exercise}\b|^{check.exercise}\s*=", re.MULTILINE)
    failed = {index: run for index, run in played.outputs.items() if run.status != "ok"}
    named = [index for index in failed if defines.search(items[index].source)]
    place = next((index for index, item in enumerate(items) if item.check == check.name), 0)
    asked = {item.check for item in items if item.check is not None}
    others = [i for i, item in enumerate(items[:place]) if item.check in asked - same]
    above = [index for index in failed if max(others, default=-1) < index < place]
    for index in [*named[-1:], *above[-1:]]:
        run = failed[index]
        what = run.reason or (_said(run.error, 1) if run.error is not None else "")
        return f"the cell that should define it did not finish. {what}"
    return ""


def _said(error: CellError, first_line: int) -> str:
    """Return an error in one line; a syntax error names its line, counted from the line that the cell begins with."""
    value = re.sub(r"\(\d+\.py, line (\d+)\)", lambda m: f"(line {int(m[1]) + first_line - 1})", error.value[:200])
    return f"{error.name}: {value}"


def _broken(parts: Sequence[Chunk], played: Played) -> list[str]:
    """Name the parts of a file that did not run."""
    notes = []
    for index, part in enumerate(parts):
        run = played.outputs.get(index)
        if run is not None and run.error is not None and not run.reason:
            notes.append(f"Line {part.line} and following ({part.title}): {_said(run.error, part.line)}")
        elif run is not None and run.status != "ok":
            notes.append(f"Line {part.line} and following ({part.title}): {run.reason}")
    return notes


def _written(
    notebook: NotebookNode, items: Sequence[Item], played: Played, results: Sequence[CheckResult]
) -> NotebookNode:
    by_name = {result.name: result for result in results}
    for index, (cell, item) in enumerate(zip(notebook.cells, items, strict=True)):
        if cell["cell_type"] != "code":
            continue
        cell["execution_count"] = None
        if item.check is not None:
            cell["outputs"] = outputs.scoring(by_name[item.check])
        elif index in played.outputs:
            run = played.outputs[index]
            cell["outputs"] = outputs.safe(run.outputs)
            if run.status not in ("ok", "error") and run.reason:
                cell.outputs.append(outputs.notice(run.reason))
    return notebook


def _empty() -> NotebookNode:
    return read_notebook(b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')


def _sandbox(sandboxed: bool) -> str:
    return SANDBOXED if sandboxed else UNSANDBOXED
