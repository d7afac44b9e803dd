"""A brute-force comparison of a layer or a backward function with torch.nn; no part of the grader is used.

Two records of `watching` are compared. Where torch.nn and the contract differ (which exception), the contract rules.
"""

from __future__ import annotations

from typing import Any

import torch
from watching import Record, watch_backward, watch_layer

BACKWARD = "batch_norm_backward"


def watched(name: str, thing: Any) -> Record:
    """Return the record of what defines a name of the contract."""
    return watch_backward(thing) if name == BACKWARD else watch_layer(thing, int(name[-2]))


def first_difference(expected: Record, given: Record, rtol: float = 1e-8, floor: float = 1e-3) -> str | None:
    """Return the first label under which two records differ, or None.

    In float64 two numbers agree within rtol times the largest of their tensor, or times `floor` if that is larger.
    """
    for label in [*expected, *given]:
        if label not in expected or label not in given:
            return f"{label}: only one of the two got there"
        if not _same(expected[label], given[label], rtol, floor):
            return f"{label}: {given[label]} in place of {expected[label]}"
    return None


def _same(a: Any, b: Any, rtol: float, floor: float) -> bool:
    if isinstance(a, torch.Tensor):
        if not isinstance(b, torch.Tensor) or a.shape != b.shape or a.dtype != b.dtype:
            return False
        if not a.dtype.is_floating_point:
            return torch.equal(a, b)
        bound = (rtol if a.dtype == torch.float64 else 2e-3) * max([floor, *a.abs().flatten().tolist()])
        return bool(torch.isfinite(b).all()) and bool((a - b).abs().le(bound).all())
    if isinstance(a, list | tuple):
        return (
            type(a) is type(b) and len(a) == len(b) and all(_same(x, y, rtol, floor) for x, y in zip(a, b, strict=True))
        )
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_same(a[k], b[k], rtol, floor) for k in a)
    return bool(a == b)
