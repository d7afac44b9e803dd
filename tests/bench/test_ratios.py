"""The arithmetic of the benchmarks: rates, ratios, the limit, the goals."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from bench import ratios

STOCK = {"submissions": 10, "wall_s": 24.0, "start_s": 4.0, "each_s": 2.0}
SAME = {"submissions": 10, "wall_s": 3.0, "cpu_s": 5.0}
WHOLE = {"submissions": 100, "wall_s": 10.2, "cpu_s": 14.0}
LIMIT = {"cells_cpu_s": 0.01, "probe_cpu_s": 0.03}
LAB = {"ours": {"same": SAME, "whole": WHOLE}, "stock": STOCK, "otter": None, "limit": LIMIT}


def test_a_serial_grader_starts_once_however_large_the_class() -> None:
    assert ratios.per_minute(STOCK) == pytest.approx(25)
    assert ratios.serial_per_minute(STOCK, 10) == pytest.approx(25)
    assert ratios.serial_per_minute(STOCK, 100) == pytest.approx(60 * 100 / 204)


def test_a_ratio_compares_classes_of_one_size() -> None:
    assert ratios.ratio(WHOLE, STOCK) == pytest.approx(204 / 10.2)
    assert ratios.ratio_of_same(SAME, STOCK) == pytest.approx(8)
    with pytest.raises(ValueError, match="100 and 10"):
        ratios.ratio_of_same(WHOLE, STOCK)


def test_cpu_time_counts_the_start_and_one_more_does_not() -> None:
    assert ratios.cpu_each_s(WHOLE) == pytest.approx(0.14)
    assert ratios.cpu_more_s(SAME, WHOLE) == pytest.approx(0.1)
    assert ratios.limit_s(LIMIT) == pytest.approx(0.04)


def test_the_keys_that_are_asked_for_are_there_also_when_nothing_was_measured() -> None:
    found = ratios.keys({"lab1": LAB, "training": {}})
    assert found["lab1_ratio_vs_nbgrader"] == pytest.approx(20)
    assert found["lab1_cpu_over_limit"] == pytest.approx(3.5)
    assert found["lab1_ratio_vs_otter"] is None
    assert found["training_ratio_vs_nbgrader"] is None
    assert ratios.keys({"lab1": {**LAB, "otter": STOCK}})["lab1_ratio_vs_otter"] == pytest.approx(20)


def goals(**changes: Any) -> dict[str, bool | None]:
    results: dict[str, Any] = {"labs": {"lab1": copy.deepcopy(LAB)}, "startup": {"try_s": 2.0, "help_s": 0.4}}
    results["labs"]["lab1"]["ours"]["whole"].update(changes)
    return {goal["what"]: goal["met"] for goal in ratios.goals(results)}


def test_a_goal_is_met_on_its_own_side_only() -> None:
    slow, fast = goals(), goals(wall_s=6.8)
    assert slow["times stock nbgrader, lab 1"] is False
    assert fast["times stock nbgrader, lab 1"] is True
    assert slow["seconds of `autograder try`"] is True
    assert slow["seconds of `autograder --help`"] is False


@pytest.mark.parametrize(("wall_s", "met"), [(66, True), (68, False)])
def test_a_large_class_has_a_goal_of_its_own(wall_s: float, met: bool) -> None:
    """Where one was graded: the class of the other goal is a smaller one."""
    large = {"submissions": 1000, "wall_s": wall_s, "cpu_s": 1.0}
    results = {"labs": {"lab1": {**LAB, "ours": {"same": SAME, "whole": WHOLE, "large": large}}}}
    assert {goal["what"]: goal["met"] for goal in ratios.goals(results)}[LARGE] is met
    assert ratios.keys(results["labs"])["lab1_ratio_vs_nbgrader_large"] == pytest.approx(2004 / wall_s)
    assert LARGE not in goals()
    assert ratios.keys({"lab1": LAB})["lab1_ratio_vs_nbgrader_large"] is None


LARGE = "times stock nbgrader, lab 1, a class of 1,000"


def test_the_goal_of_cpu_time_is_twice_the_limit_and_60_ms() -> None:
    what = "CPU ms of a submission, lab 1 (twice the limit and 60 ms)"
    assert goals(cpu_s=13.9)[what] is True
    assert goals(cpu_s=14.1)[what] is False


def test_a_goal_that_was_not_measured_is_neither_met_nor_missed() -> None:
    assert goals()["seconds of `check` in a notebook"] is None
    assert goals()["times stock nbgrader, training lab"] is None
