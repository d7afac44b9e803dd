"""docs/benchmarks.md, written from the results: every number on it is one of theirs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from bench import tables
from bench.tables import TITLES, shown

IMAGE = "images/benchmarks.svg"
WIDTH = 130

HEAD = """
Written by `make bench` from [bench/results.json](../bench/results.json); do not edit. All of it was measured in one
run, on one machine; the long run at the end, where there is one, in another.
"""
PIPELINE = """
From the folder `submitted/` to recorded grades and feedback pages. Every process counts, and so does the start of
each command. Submissions are drawn from the labs' honest variants and named mistakes, and no two are the same. Stock
nbgrader and otter-grader grade the first ones of the class with plain `assert` cells that compare with torch
(`bench/asserts/`), with as many threads as is better for them, and without the labs' long experiments, which this
grader skips. They take one submission after the other; `times stock` compares with stock's rate for a class of the
same size, in which its start weighs as little as ours.
"""
LIMIT = """
The limit is what a submission's own cells and the probe cost in a process that has everything imported: no kernel, no
box, no message, no verdict. What this grader needs is counted over the whole process tree, its start included.
"""
STAGES = """
Each stage alone, one submission after the other. Cells and probe are those of the limit. What playing a submission
costs beyond them, and beyond a kernel that only starts and ends, is put down to messages.
"""
GROWTH = """
Lab 1 on this machine, which has all its processors also for one worker. Beside it stands what a simulation says
for the same: the real scheduler (`grade_all` and `grade_many`) with simulated workers and a simulated clock, which
replay the times that single submissions were measured to take in their kernels and at the judge (`bench/growth.py`).
"""
SIMULATED = """
**Simulated**, submissions per minute, on as many processors as workers, with two in flight in each. The one process
that records works beside them, and bounds the growth in the end. (By itself the command begins half as
many workers as there are processors.)
"""


def page(results: Mapping[str, Any], soak: Mapping[str, Any] | None = None) -> str:
    """Return the text of the page, with the section about a long run if there was one."""
    sections = [*_sections(results), *(() if soak is None else _soak(soak))]
    return "\n\n".join(["# How fast it grades", *sections]) + "\n"


def _sections(results: Mapping[str, Any]) -> Iterator[str]:
    labs, machine = results["labs"], results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    yield _text(HEAD)
    yield _text(
        f"Measured on {results['date']}: {machine['processors']} processors ({machine['processor']}), "
        f"{machine['memory_gb']} GB of memory, {machine['system']}; {versions}."
    )
    if results.get("remark"):
        yield _text(f"**{results['remark']}**")
    yield "## Goals"
    yield tables.goals(results)
    yield "## The whole pipeline"
    yield _text(PIPELINE)
    for word, lab in labs.items():
        kinds = ", ".join(f"{count} {kind}" for kind, count in lab["kinds"].items())
        yield _text(f"**{TITLES[word].capitalize()}** (`{lab['name']}`; of the whole class {kinds}):")
        yield tables.rates(lab)
        if lab.get("otter") is None:
            yield _text(f"otter-grader is missing: {lab.get('otter_reason') or 'left out'}.")
    yield from map(_text, _remarks(results))
    yield f"![Submissions per minute, and where the CPU time goes]({IMAGE})"
    yield "## Against the limit"
    yield _text(LIMIT)
    yield tables.limit(labs)
    yield "## Where the time goes"
    yield _text(STAGES)
    yield tables.stages(labs)
    if results.get("growth"):
        yield "## Larger classes, more workers"
        yield _text(GROWTH)
        yield tables.growth(results)
        yield _text(SIMULATED)
        yield tables.simulated(results)
    if results.get("writer"):
        yield "## Recording alone"
        yield tables.writer(results)
    if results.get("startup"):
        yield "## Waiting"
        yield tables.startup(results)


def _soak(seen: Mapping[str, Any]) -> Iterator[str]:
    yield "## A long run"
    yield _text(
        f"{shown(seen['students'])} submissions of lab 1 in one run of `autograder grade` as {seen['user']}, on "
        f"{seen['date']} with {seen['machine']['processors']} processors; it took {shown(seen['wall_s'] / 60)} minutes. "
        f"{shown(seen['looks'])} looks from outside met a kernel {shown(seen['kernels_seen'])} times, somewhere in its life; "
        f"half of these times it had less than {shown(seen['kernel_median_mb'])} MB alone. Written by `make bench-soak` from "
        "[bench/soak.json](../bench/soak.json)."
    )
    yield tables.goals(seen)
    yield tables.soak(seen)


def _remarks(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the tables of the pipeline do not say: the ratio on the very same submissions, and that all ask the same."""
    same = {word: results.get(f"{word}_ratio_vs_nbgrader_same") for word in results["labs"]}
    told = [f"{shown(value)} ({TITLES[word]})" for word, value in same.items() if value is not None]
    if told:
        yield f"On the very same few submissions, all starts included, it is {' and '.join(told)} times as fast as stock nbgrader."
    twice = {word: (lab.get("stock") or {}).get("walls_s") for word, lab in results["labs"].items()}
    seconds = [f"{' and '.join(map(shown, walls))} s ({TITLES[word]})" for word, walls in twice.items() if walls]
    if seconds:
        yield (
            "Stock nbgrader graded them twice, before the others and after this grader, since a machine's speed changes; the mean "
            f"counts. It took {', '.join(seconds)}."
        )
    points = []
    for word, lab in results["labs"].items():
        graders = {
            "stock": lab.get("stock"),
            "otter": lab.get("otter"),
            "this grader": (lab.get("ours") or {}).get("same"),
        }
        means = [f"{name} {shown(run['mean_points_of_right'])}" for name, run in graders.items() if run is not None]
        points.append(f"{TITLES[word]} {', '.join(means)} of {shown(lab['points'])}")
    yield f"That all ask the same is seen by the mean points of the submissions that are right: {'; '.join(points)}."


def _text(words: str) -> str:
    return textwrap.fill(" ".join(words.split()), WIDTH, break_long_words=False, break_on_hyphens=False)
