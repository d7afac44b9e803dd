"""The page and the figure of the benchmarks say what bench/results.json says, and the JSON has what others read of it."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from bench import figure, ratios
from bench.page import IMAGE, page

ROOT = Path(__file__).resolve().parents[2]
RESULTS: dict[str, Any] = json.loads((ROOT / "bench" / "results.json").read_text(encoding="utf-8"))
SOAK = ROOT / "bench" / "soak.json"
DOCS = ROOT / "docs"


def words_of(svg: str) -> list[str]:
    return [text.strip() for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


def labels(results: dict[str, Any]) -> list[str]:
    bars = [value for found in figure.rates(results).values() for value in found.values()]
    return [figure.label(value) for value in bars]


def test_the_page_is_what_the_results_give() -> None:
    assert (DOCS / "benchmarks.md").read_text(encoding="utf-8") == page(RESULTS, long_run())


def long_run() -> dict[str, Any] | None:
    """What the last whole run of bench/soak.py saw; None before there was one."""
    return json.loads(SOAK.read_text(encoding="utf-8")) if SOAK.exists() else None


def test_the_page_says_that_it_is_written_by_the_bench() -> None:
    assert "Written by `make bench`" in page(RESULTS).split("\n\n")[1]


def test_the_figure_shows_the_numbers_of_the_results() -> None:
    words = words_of((DOCS / IMAGE).read_text(encoding="utf-8"))
    assert [label for label in labels(RESULTS) if label not in words] == []
    assert set(figure.stacks(RESULTS)) <= set(words)


def test_other_results_would_give_another_page_and_another_figure(tmp_path: Path) -> None:
    other = copy.deepcopy(RESULTS)
    other["labs"]["lab1"]["ours"]["runs"][2]["wall_s"] *= 1.7
    assert page(other) != page(RESULTS)
    figure.draw(other, tmp_path / "other.svg")
    words = words_of((tmp_path / "other.svg").read_text(encoding="utf-8"))
    assert [label for label in labels(other) if label not in words] == []
    assert [label for label in labels(RESULTS) if label not in words] != []


def test_what_was_measured_twice_is_told_twice() -> None:
    twice = copy.deepcopy(RESULTS)
    twice["labs"]["lab1"]["stock"]["walls_s"] = [43.5, 57.5]
    assert "twice" in page(twice)
    assert "43.5 and 57.5 s (lab 1)" in page(twice)


@pytest.mark.parametrize(
    "key", ["lab1_ratio_vs_nbgrader", "training_ratio_vs_nbgrader", "lab1_ratio_vs_otter", "lab1_cpu_over_limit"]
)
def test_the_keys_that_are_asked_for_agree_with_what_was_measured(key: str) -> None:
    assert RESULTS[key] == ratios.keys(RESULTS["labs"])[key]


def test_what_is_missing_has_a_reason() -> None:
    for lab in RESULTS["labs"].values():
        assert lab["otter"] is not None or lab["otter_reason"]


def test_the_goals_agree_with_what_was_measured() -> None:
    assert RESULTS["goals"] == ratios.goals(RESULTS)


def test_the_results_say_where_when_and_with_what_they_were_measured() -> None:
    assert {"processors", "processor", "memory_gb", "system"} <= set(RESULTS["machine"])
    assert {"Python", "torch", "nbgrader"} <= set(RESULTS["versions"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", RESULTS["date"])
    assert RESULTS["sizes"]["few"] >= 8
