"""How an experiment's numbers are written: mean and spread over seeds, tables in Markdown. It measures nothing."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def mean(values: Sequence[float], digits: int = 1) -> str:
    """Return the mean with the given number of decimals."""
    return f"{statistics.fmean(values):.{digits}f}"


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Return mean and standard deviation (divisor: number of seeds less one), as `2.31 ± 0.23`."""
    return f"{statistics.fmean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose first column is aligned left and whose others are aligned right."""
    lines = [list(head), ["---", *["---:"] * (len(head) - 1)], *map(list, rows)]
    assert len({len(line) for line in lines}) == 1, f"rows of different lengths under {list(head)}"
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
