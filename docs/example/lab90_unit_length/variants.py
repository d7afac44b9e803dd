"""Honest solutions of the example lab in other styles; each must get full points and no diagnosis."""

from __future__ import annotations

from autograder.checks.check import Variant

LOOP = """\
import torch


def unit_length(x, eps=1e-12):
    rows = []
    for row in x:
        length = sum(value.item() ** 2 for value in row) ** 0.5
        rows.append(row / max(length, eps))
    return torch.stack(rows)
"""

LIBRARY = """\
import torch


def unit_length(x, eps=1e-12):
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x / torch.maximum(length, torch.tensor(eps, dtype=x.dtype))
"""

VARIANTS: tuple[Variant, ...] = (
    Variant("loop-over-rows", "A Python loop over rows and numbers", {"unit_length": LOOP}),
    Variant("vector-norm", "torch.linalg.vector_norm and a maximum", {"unit_length": LIBRARY}),
)
