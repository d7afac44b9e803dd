"""All the honest variants of lab 6: complete by the task text, in styles that a careless grader would fail."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab06_beyond.variants_lines import LINES
from solutions.lab06_beyond.variants_whole import WHOLE

VARIANTS: tuple[Variant, ...] = (*LINES, *WHOLE)
