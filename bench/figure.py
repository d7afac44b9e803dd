"""The figure of the benchmarks' page: how many a minute, and where the CPU time of a submission goes; from the results only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench import ratios, tables

# Eight colours that are told apart by colour-blind readers too (Okabe and Ito); the last is for what none of the others is.
DARK = ("#0072B2", "#009E73", "#D55E00")
COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#F0E442", "#CC79A7", "#E69F00", "#D55E00", "#999999")


def rates(results: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the bars on the left: for each lab the submissions per minute of each grader."""
    found: dict[str, dict[str, float]] = {}
    for word, lab in results["labs"].items():
        ours, bars = lab.get("ours"), found.setdefault(tables.TITLES[word], {})
        for name, title in (("stock", "stock nbgrader"), ("otter", "otter-grader")):
            if lab.get(name) is not None:
                bars[title] = ratios.serial_per_minute(lab[name], ours["whole"]["submissions"])
        for run in ours["runs"]:
            bars[f"this grader, {run['way']}"] = ratios.per_minute(run)  # the last one of a way is the largest class
    return found


def stacks(results: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the bars on the right: for each lab the CPU milliseconds of each stage."""
    return {
        tables.TITLES[word]: {tables.STAGES[name]: 1000 * value for name, value in lab["stages"]["each_cpu_s"].items()}
        for word, lab in results["labs"].items()
        if lab.get("stages")
    }


def label(value: float) -> str:
    """Return the text at a bar."""
    return f"{value:.0f}" if value >= 9.5 else f"{value:.1f}"


def draw(results: Mapping[str, Any], path: Path) -> None:
    """Write the figure as SVG, with its words as words."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "bench", "font.size": 9})
    left, right = rates(results), stacks(results)
    figure, (many, each) = plt.subplots(2, 1, figsize=(9, 6.6), constrained_layout=True, height_ratios=(3, 2))
    names = list(dict.fromkeys(name for bars in left.values() for name in bars))[::-1]
    thick = 0.8 / len(left)
    for place, (title, bars) in enumerate(left.items()):
        heights = [names.index(name) + 0.4 - thick * (place + 0.5) for name in bars]
        drawn = many.barh(heights, list(bars.values()), thick, color=COLOURS[place], label=title)
        many.bar_label(drawn, [label(value) for value in bars.values()], padding=3)
    many.set_yticks(range(len(names)), names)
    many.set(xlabel="submissions per minute")
    many.set_xlim(right=1.6 * max(value for bars in left.values() for value in bars.values()))
    many.legend(frameon=False, loc="upper right")
    for place, stage in enumerate(tables.STAGES.values()):
        widths = [bars[stage] for bars in right.values()]
        starts = [sum(max(bars[s], 0.0) for s in list(tables.STAGES.values())[:place]) for bars in right.values()]
        drawn = each.barh(
            list(right), [max(w, 0.0) for w in widths], 0.6, left=starts, color=COLOURS[place], label=stage
        )
        widest = max(sum(bars.values()) for bars in right.values())
        each.bar_label(
            drawn, [label(w) if w > 0.02 * widest else "" for w in widths], label_type="center",
            color="white" if COLOURS[place] in DARK else "black",
        )  # fmt: skip
    each.set(xlabel="CPU milliseconds of a submission")
    each.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.4, -0.25))
    for panel in (many, each):
        panel.spines[["top", "right"]].set_visible(False)
    each.invert_yaxis()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None, "Title": "Speed of grading"})
    plt.close(figure)
