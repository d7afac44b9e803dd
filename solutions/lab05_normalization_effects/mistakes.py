"""All the mistakes of lab 5, each a named wrong source with a sentence a student can act on.

Their kinds stand in the modules imported here. Every one is wrong by the task text, and only in the way its title says; the
sources are small edits of `plain`, so that what differs is what is wrong.
"""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab05_normalization_effects.mistakes_compare import COMPARE_MISTAKES
from solutions.lab05_normalization_effects.mistakes_drift import DRIFT_MISTAKES
from solutions.lab05_normalization_effects.mistakes_gap import GAP_MISTAKES
from solutions.lab05_normalization_effects.mistakes_gradient import GRADIENT_MISTAKES
from solutions.lab05_normalization_effects.mistakes_precise import PRECISE_MISTAKES
from solutions.lab05_normalization_effects.mistakes_statistics import STATISTICS_MISTAKES
from solutions.lab05_normalization_effects.mistakes_training import TRAINING_MISTAKES

MISTAKES: tuple[Mistake, ...] = (
    *STATISTICS_MISTAKES,
    *TRAINING_MISTAKES,
    *DRIFT_MISTAKES,
    *GAP_MISTAKES,
    *PRECISE_MISTAKES,
    *GRADIENT_MISTAKES,
    *COMPARE_MISTAKES,
)
