"""Gradients of a decoder's blocks before the first step: the last block's against the depth, and block by block."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from _record import record
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

STYLES = {"post": ("#c2185b", "-", "s"), "pre": ("#0b57d0", "-", "o")}


def draw() -> Figure:
    """Draw the last block's gradient against the depth above, and all blocks of the deepest decoder below."""
    seen = record("pre_post_norm_gradients")
    depths = seen["settings"]["depths"]
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(4.5, 6), layout="constrained")
    for kind, (colour, line, marker) in STYLES.items():
        runs = seen["values"][kind]
        last = np.array([[one["gradient"][-1] for one in runs[str(d)]] for d in depths])  # (depths, seeds)
        top.errorbar(
            depths, last.mean(1), last.std(1, ddof=1), color=colour, marker=marker, capsize=3, label=f"{kind}-norm"
        )
        deepest = np.array([one["gradient"] for one in runs[str(depths[-1])]])  # (seeds, blocks)
        blocks = np.arange(1, deepest.shape[1] + 1)
        middle, width = deepest.mean(0), deepest.std(0, ddof=1)
        bottom.fill_between(blocks, middle - width, middle + width, color=colour, alpha=0.2, linewidth=0)
        bottom.plot(blocks, middle, line, color=colour, marker=marker, markersize=4, label=f"{kind}-norm")
        if kind == "pre":
            stream = np.array([np.mean([one["variance"][-1] for one in runs[str(d)]]) for d in depths])
            top.plot(
                depths, last.mean(1)[-1] * (stream[-1] / stream) ** 0.5, "--", color="black", label="1 / std of stream"
            )
            levels = np.array([one["variance"] for one in runs[str(depths[-1])]]).mean(0)
            bottom.plot(blocks, middle[0] * (levels[0] / levels) ** 0.5, "--", color="black", label="1 / std of stream")
    top.set_xscale("log")
    top.set_yscale("log")
    top.set_xticks(depths, [str(d) for d in depths])
    top.set_yticks([0.25, 0.5, 1, 2])
    for axis in (top.xaxis, top.yaxis):
        axis.set_minor_formatter(NullFormatter())
    top.yaxis.set_major_formatter(ScalarFormatter())
    top.set_ylim(0.18, 2)
    top.set_xlabel("number of blocks")
    top.set_ylabel("gradient of the last block")
    top.legend(fontsize=9.5, loc="lower left")
    bottom.set_ylim(0, None)
    bottom.set_xlabel(f"block, of {depths[-1]}")
    bottom.set_ylabel("gradient of the block")
    return figure
