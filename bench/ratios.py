"""From what was measured to the numbers that are asked for: rates, ratios, goals. Arithmetic and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Results = Mapping[str, Any]

MORE_CPU_S = 0.06  # what a submission may cost beside twice the limit


def per_minute(run: Mapping[str, Any]) -> float:
    """Return how many submissions a run grades in a minute, its start included."""
    return 60 * float(run["submissions"]) / float(run["wall_s"])


def serial_per_minute(run: Mapping[str, Any], submissions: int) -> float:
    """Return the rate of a grader that takes one submission after the other, for a class of another size."""
    return 60 * submissions / (float(run["start_s"]) + submissions * float(run["each_s"]))


def ratio(ours: Mapping[str, Any], serial: Mapping[str, Any]) -> float:
    """Return how many times as fast ours is for the class that it graded; the other one starts once, too."""
    return per_minute(ours) / serial_per_minute(serial, int(ours["submissions"]))


def ratio_of_same(ours: Mapping[str, Any], serial: Mapping[str, Any]) -> float:
    """Return how many times as fast ours is on the very submissions that both graded, all starts included.

    Raises ValueError when the classes are not of one size.
    """
    if ours["submissions"] != serial["submissions"]:
        raise ValueError(f"{ours['submissions']} and {serial['submissions']} submissions are not the same class")
    return float(serial["wall_s"]) / float(ours["wall_s"])


def limit_s(limit: Mapping[str, Any]) -> float:
    """Return the CPU seconds that nobody can be below: the cells and the probe."""
    return float(limit["cells_cpu_s"]) + float(limit["probe_cpu_s"])


def cpu_each_s(run: Mapping[str, Any]) -> float:
    """Return the CPU seconds of a submission, its share of the run's start included."""
    return float(run["cpu_s"]) / float(run["submissions"])


def cpu_more_s(small: Mapping[str, Any], large: Mapping[str, Any]) -> float:
    """Return the CPU seconds of one submission more: the starts of the two runs cancel."""
    return (float(large["cpu_s"]) - float(small["cpu_s"])) / (large["submissions"] - small["submissions"])


def keys(labs: Results) -> dict[str, float | None]:
    """Return the numbers that are asked for by name; None for what was not measured."""
    found: dict[str, float | None] = {}
    for word in ("lab1", "training"):
        lab = labs.get(word, {})
        ours, stock, otter, limit = (lab.get(part) for part in ("ours", "stock", "otter", "limit"))
        found[f"{word}_ratio_vs_nbgrader"] = ratio(ours["whole"], stock) if ours and stock else None
        large = ours.get("large") if ours else None
        found[f"{word}_ratio_vs_nbgrader_large"] = ratio(large, stock) if large and stock else None
        found[f"{word}_ratio_vs_nbgrader_same"] = ratio_of_same(ours["same"], stock) if ours and stock else None
        found[f"{word}_ratio_vs_otter"] = ratio(ours["whole"], otter) if ours and otter else None
        found[f"{word}_cpu_over_limit"] = cpu_each_s(ours["whole"]) / limit_s(limit) if ours and limit else None
    return found


def goals(results: Results) -> list[dict[str, Any]]:
    """Return each goal with what was reached; `met` is None for what was not measured."""
    found = keys(results["labs"])
    rows: list[tuple[str, str, float | None, float, bool]] = [
        ("times stock nbgrader, lab 1", "at least", found["lab1_ratio_vs_nbgrader"], 30, True),
        ("times stock nbgrader, training lab", "at least", found["training_ratio_vs_nbgrader"], 20, True),
    ]
    if (reached := found["lab1_ratio_vs_nbgrader_large"]) is not None:
        many = results["labs"]["lab1"]["ours"]["large"]["submissions"]
        rows.insert(1, (f"times stock nbgrader, lab 1, a class of {many:,}", "at least", reached, 30, True))
    for word, title in (("lab1", "lab 1"), ("training", "training lab")):
        lab = results["labs"].get(word, {})
        ours, limit = lab.get("ours"), lab.get("limit")
        if not limit:
            continue  # then nobody knows the goal
        reached = 1000 * cpu_each_s(ours["whole"]) if ours else None
        most = 1000 * (2 * limit_s(limit) + MORE_CPU_S)
        rows.append((f"CPU ms of a submission, {title} (twice the limit and 60 ms)", "at most", reached, most, False))
    start = results.get("startup") or {}
    slowest = max(start["check_s"], start["failed_check_s"]) if "check_s" in start else None
    rows += [
        ("seconds to the first result of a class", "at most", start.get("first_result_s"), 3, False),
        ("seconds of `autograder try`", "at most", start.get("try_s"), 2.5, False),
        ("seconds of `check` in a notebook", "at most", slowest, 1, False),
        ("seconds of `autograder --help`", "at most", start.get("help_s"), 0.3, False),
    ]
    return [
        {
            "what": what,
            "goal": f"{word} {bound:.4g}",
            "reached": reached,
            "met": None if reached is None else (reached >= bound if more else reached <= bound),
        }
        for what, word, reached, bound, more in rows
    ]
