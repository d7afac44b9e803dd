"""Results as Markdown tables. What is shown stands in the results; nothing is measured and nothing is decided here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench import ratios

TITLES = {"lab1": "lab 1", "training": "training lab"}
STAGES = {
    "cells": "the student's cells",
    "probe": "the probe's scenarios",
    "kernel": "a kernel's start and end",
    "messages": "messages, and the rest of the kernel",
    "graft": "reading, grafting, writing",
    "judge": "verdicts and diagnoses",
    "record": "gradebook and feedback page",
}
WRITER = {
    "recorded_grades_per_s": "grades recorded in a second, with feedback pages",
    "recorded_submissions_per_s": "submissions recorded in a second",
    "again_submissions_per_s": "the same again, over what is there",
    "nbgrader_submissions_per_s": "by nbgrader's own two converters, one student after the other",
    "cpu_ms_of_a_submission": "CPU ms of a submission",
    "nbgrader_cpu_ms_of_a_submission": "CPU ms of a submission, by nbgrader's own two converters",
}
SOAK = {
    "grader_mb": "MB of the grader",
    "worker_mb": "MB of a worker",
    "template_mb": "MB that a template has alone",
    "kernel_mb": "MB that a kernel has alone",
    "descriptors": "descriptors of a process",
    "processes": "processes",
    "dead": "dead processes that nobody has waited for yet",
    "folders": "run folders",
}
NOT = "not measured"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table: words on the left, numbers on the right; None is shown as not measured."""
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    lines += [f"| {' | '.join(shown(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def shown(cell: object) -> str:
    """Return a cell's text: numbers with three digits that count, and no more."""
    if cell is None:
        return NOT
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def goals(results: Mapping[str, Any]) -> str:
    """Return the table of the goals, of the benchmarks or of a long run."""
    rows = [[goal["what"], goal["goal"], goal["reached"], goal["met"]] for goal in results["goals"]]
    return table(("", "goal", "reached", "met"), rows)


def rates(lab: Mapping[str, Any]) -> str:
    """Return the table of the whole pipeline for one lab."""
    rows: list[list[object]] = []
    stock, otter = lab.get("stock"), lab.get("otter")

    def row(title: str, run: Mapping[str, Any]) -> list[object]:
        rate = ratios.per_minute(run)
        times = None if stock is None else rate / ratios.serial_per_minute(stock, run["submissions"])
        return [title, run["submissions"], run["wall_s"], rate, 1000 * ratios.cpu_each_s(run), times]

    if stock is not None:
        rows.append(row(f"stock nbgrader (OMP_NUM_THREADS {stock['omp_num_threads']})", stock))
    if otter is not None:
        title = f"otter-grader {otter['version']}, no containers (OMP_NUM_THREADS {otter['omp_num_threads']})"
        rows.append(row(title, otter))
    rows += [row(f"this grader, {run['way']}", run) for run in (lab.get("ours") or {}).get("runs", ())]
    return table(("", "submissions", "seconds", "per minute", "CPU ms each", "times stock"), rows)


def limit(labs: Mapping[str, Any]) -> str:
    """Return the table of CPU time against the limit."""
    rows: list[list[object]] = []
    for word, lab in labs.items():
        if lab.get("limit") is None or lab.get("ours") is None:
            continue
        bound, whole, same = lab["limit"], lab["ours"]["whole"], lab["ours"]["same"]
        one_more = ratios.cpu_more_s(same, whole) if whole["submissions"] > same["submissions"] else None
        each = ratios.cpu_each_s(whole)
        rows.append(
            [
                TITLES[word],
                1000 * float(bound["cells_cpu_s"]),
                1000 * float(bound["probe_cpu_s"]),
                1000 * each,
                None if one_more is None else 1000 * one_more,
                each / ratios.limit_s(bound),
            ]
        )
    head = ("CPU ms per submission", "cells", "probe", "this grader", "of one submission more", "times the limit")
    return table(head, rows)


def stages(labs: Mapping[str, Any]) -> str:
    """Return the table of where the time goes."""
    found = {word: lab["stages"]["each_cpu_s"] for word, lab in labs.items() if lab.get("stages")}
    rows = [[title, *(1000 * each[name] for each in found.values())] for name, title in STAGES.items()]
    rows.append(["all of it", *(1000 * sum(each.values()) for each in found.values())])
    return table(("CPU ms per submission", *(TITLES[word] for word in found)), rows)


def growth(results: Mapping[str, Any]) -> str:
    """Return the table of larger classes on this machine, measured, and beside it simulated for the same processors."""
    found = results["growth"]
    like = ("submissions", "workers", "at_once")
    guess = {tuple(run[name] for name in like): run["per_minute"] for run in found["same_machine"]}
    rows: list[list[object]] = [
        [
            str(run["submissions"]),
            run["workers"],
            run["at_once"],
            run["wall_s"],
            run["per_minute"],
            guess.get(tuple(run[name] for name in like)),
        ]
        for run in found["measured"]
    ]
    head = ("submissions", "workers", "in flight in each", "seconds", "per minute", "per minute, simulated")
    return table(head, rows)


def simulated(results: Mapping[str, Any]) -> str:
    """Return the table of classes and workers, simulated with a processor for each worker: submissions per minute."""
    found = {(run["submissions"], run["workers"]): run["per_minute"] for run in results["growth"]["simulated"]}
    workers = sorted({count for _, count in found})
    rows = [[f"{size:,}", *(found[size, count] for count in workers)] for size in sorted({size for size, _ in found})]
    return table(("submissions", *(f"{count} worker{'s' if count > 1 else ''}" for count in workers)), rows)


def startup(results: Mapping[str, Any]) -> str:
    """Return the table of waiting times."""
    found = results["startup"]
    rows = [
        ["`autograder --help`", found["help_s"]],
        ["`autograder try`, nothing running before", found["try_s"]],
        ["`check` in a notebook, the first", found["check_s"]],
        ["`check` in a notebook, the next", found["next_check_s"]],
        ["`check` in a notebook, one that finds a mistake", found["failed_check_s"]],
        [f"first result of a class of {found['class']}, from the command", found["first_result_s"]],
    ]
    return table(("", "seconds"), rows)


def soak(seen: Mapping[str, Any]) -> str:
    """Return the table of a long run: the largest of everything in its first and in its last fifth."""
    first, last = seen["first_fifth"], seen["last_fifth"]
    return table(
        ("the most at any look", "first fifth", "last fifth"), [[SOAK[name], first[name], last[name]] for name in SOAK]
    )


def writer(results: Mapping[str, Any]) -> str:
    """Return the table of recording alone."""
    found = results["writer"]
    return table(("", ""), [[title, found.get(name)] for name, title in WRITER.items()])
