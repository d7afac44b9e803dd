"""The picture of the tests that prove nothing: how often wrong layers pass; reads the record, measures nothing."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from _record import record
from matplotlib.figure import Figure

TESTS = (("assertion", "#ffb870", "///"), ("comparison", "#7fb2ff", ""))


def draw() -> Figure:
    """Draw one panel per layer that was wanted, with two bars for each layer that was given."""
    values = record("passing_tests")["values"]
    figure, axes = plt.subplots(2, 1, figsize=(4.5, 4.8), layout="constrained", sharex=True)
    for ax, (wanted, given) in zip(axes, values.items(), strict=True):
        places = np.arange(len(given))[::-1]
        for shift, (test, colour, hatch) in zip((0.2, -0.2), TESTS, strict=True):
            rates = [np.array(tests[test]) for tests in given.values()]
            means = [r.mean() for r in rates]
            spread = [r.std(ddof=1) for r in rates]
            ax.barh(
                places + shift,
                means,
                0.38,
                xerr=spread,
                color=colour,
                hatch=hatch,
                edgecolor="black",
                linewidth=0.7,
                error_kw={"linewidth": 1.2},
                label=f"passes the {test}",
            )
            for place, mean in zip(places, means, strict=True):
                if mean == 0:
                    ax.text(1, place + shift, "0", va="center", fontsize=9.5)
        ax.set_yticks(places, list(given), fontsize=10)
        ax.set_title(f"{wanted} was wanted; given was ...", fontsize=10.5, loc="left")
    axes[1].set_xlabel("passes, % of 400 draws")
    axes[0].legend(fontsize=9.5, loc="lower center", bbox_to_anchor=(0.4, 1.1), ncols=2, columnspacing=1)
    return figure
