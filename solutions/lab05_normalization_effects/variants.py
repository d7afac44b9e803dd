"""All the honest variants of lab 5: complete by the task text, in styles that a careless grader would fail."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab05_normalization_effects.variants_manners import MANNERS
from solutions.lab05_normalization_effects.variants_styles import STYLES

VARIANTS: tuple[Variant, ...] = (*STYLES, *MANNERS)
