"""Test error of a finished model against the number of requests that it answered in training mode."""

from __future__ import annotations

import matplotlib.pyplot as plt
from _bars import mean_and_deviation
from _record import record
from matplotlib.figure import Figure

STYLES = {
    "one digit, 16 images": ("#c2185b", "-", "s"),
    "all digits, 2 images": ("#b26a00", "--", "^"),
    "all digits, 16 images": ("#0b57d0", "-.", "o"),
}


def draw() -> Figure:
    """Draw mean and standard deviation over the seeds for each kind of requests."""
    seen = record("forgotten_eval")
    requests = seen["settings"]["requests"]
    figure, ax = plt.subplots(figsize=(4.5, 3.5), layout="constrained")
    for kind, look in STYLES.items():
        mean_and_deviation(ax, requests, seen["values"][kind], look, kind)
    ax.set_ylim(0, None)
    ax.set_xlabel("requests answered in training mode")
    ax.set_ylabel("test error in %, evaluation mode")
    ax.legend(fontsize=9.5)
    return figure
