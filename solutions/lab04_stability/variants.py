"""All the honest variants of lab 4: complete by the contract, in styles that a careless grader would fail."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab04_stability.plain import PLAIN
from solutions.lab04_stability.variants_built import BUILT
from solutions.lab04_stability.variants_manners import MANNERS
from solutions.lab04_stability.variants_numbers import NUMBERS
from solutions.lab04_stability.variants_styles import STYLES

VARIANTS: tuple[Variant, ...] = (
    Variant("plain", "The text that the mistakes are cut from", PLAIN),
    *MANNERS,
    *BUILT,
    *NUMBERS,
    *STYLES,
)
