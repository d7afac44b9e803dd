"""One line of means with error bars, as several figures draw it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes


def mean_and_deviation(
    ax: Axes, x: Sequence[float], rows: Sequence[Sequence[float]], look: tuple[str, str, str], label: str
) -> None:
    """Draw mean and standard deviation over the rows, one for each seed; a look is colour, line and marker."""
    values = np.array(rows)  # (seeds, places)
    colour, line, marker = look
    ax.errorbar(
        x,
        values.mean(0),
        values.std(0, ddof=1),
        color=colour,
        linestyle=line,
        marker=marker,
        markersize=5,
        capsize=3,
        label=label,
    )
