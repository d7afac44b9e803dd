"""A long run: what is told of it, which goals are met, and that what piles up is found."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest

from bench import soak
from bench.page import page
from bench.soak import Look, goals, in_part

ROOT = Path(__file__).resolve().parents[2]
RESULTS: dict[str, Any] = json.loads((ROOT / "bench" / "results.json").read_text(encoding="utf-8"))
SAME = {
    "grader_mb": 210.5, "worker_mb": 420.0, "template_mb": 250.0, "kernel_mb": 48.5,
    "descriptors": 40, "processes": 17, "dead": 2, "folders": 6,
}  # fmt: skip
SEEN = {
    "date": "2026-11-30", "machine": {"processors": 2}, "user": "root",
    "students": 2000, "reports": 2000, "wall_s": 600.0, "looks": 1100,
    "grader_mb": 210.5, "worker_mb": 420.0, "template_mb": 250.0,
    "kernels_seen": 3000, "kernel_mb": 48.5, "kernel_median_mb": 40.25,
    "first_fifth": SAME, "last_fifth": SAME, "left": {"processes": 0, "folders": 0},
}  # fmt: skip


def unmet(**other: Any) -> list[str]:
    """The goals that a run with something else in it does not meet."""
    return [goal["what"] for goal in goals({**SEEN, **other}) if not goal["met"]]


def test_a_flat_run_meets_every_goal() -> None:
    assert unmet() == []


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"reports": 1999}, "submissions without a report"),
        ({"grader_mb": 500.1}, "MB of the grader at its peak"),
        ({"worker_mb": 500.1}, "MB of a worker at its peak"),
        ({"kernel_mb": 60.1}, "MB that a kernel has alone, the largest seen"),
        ({"kernels_seen": 0, "kernel_mb": 0}, "MB that a kernel has alone, the largest seen"),
        ({"last_fifth": {**SAME, "descriptors": 46}}, "more descriptors of a process, last fifth against first"),
        ({"last_fifth": {**SAME, "dead": 8}}, "more dead processes at once, last fifth against first"),
        ({"last_fifth": {**SAME, "folders": 12}}, "more run folders at once, last fifth against first"),
        ({"left": {"processes": 1, "folders": 0}}, "processes left behind"),
        ({"left": {"processes": 0, "folders": 1}}, "run folders left behind"),
    ],
)
def test_what_piles_up_or_is_too_large_is_found(other: dict[str, Any], what: str) -> None:
    assert unmet(**other) == [what]


def test_a_folder_counts_as_left_behind_only_if_nobody_holds_it(tmp_path: Path) -> None:
    left, held = tmp_path / "left", tmp_path / "held"
    for path in (left, held):
        path.mkdir()
    lock = os.open(held, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert soak._abandoned([left, held, tmp_path / "gone"]) == [left]
    finally:
        os.close(lock)
    assert soak._abandoned([left, held]) == [left, held]


def test_a_part_is_told_by_how_many_had_a_report() -> None:
    looks = [Look(reports, descriptors=[10, reports], kernels_mb=[reports / 10]) for reports in range(0, 101, 10)]
    first, last = in_part(looks, 100, 1), in_part(looks, 100, soak.FIFTH)
    assert (first["descriptors"], last["descriptors"]) == (20, 100)
    assert (first["kernel_mb"], last["kernel_mb"]) == (2.0, 10.0)


def test_the_page_shows_a_long_run_where_there_was_one() -> None:
    text = page(RESULTS, {**SEEN, "goals": goals(SEEN)})
    assert text.startswith(page(RESULTS).rstrip())
    more = text.removeprefix(page(RESULTS).rstrip())
    for words in ("2,000 submissions", "10 minutes", "1,100 looks", "3,000 times", "40.2 MB alone"):
        assert words in " ".join(more.split())
    assert "| MB that a kernel has alone | 48.5 | 48.5 |" in more
    assert "| run folders left behind | at most 0 | 0 | yes |" in more
