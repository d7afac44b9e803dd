"""All the mistakes of lab 4, each a named wrong function with a sentence that a student can act on.

Their kinds stand in the modules imported here. The sources are small edits of `plain`, so that what differs is what is wrong.
"""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab04_stability.mistakes_error import ERROR
from solutions.lab04_stability.mistakes_gradients import GRADIENTS
from solutions.lab04_stability.mistakes_leak import LEAK
from solutions.lab04_stability.mistakes_numbers import NUMBERS
from solutions.lab04_stability.mistakes_outputs import OUTPUTS
from solutions.lab04_stability.mistakes_spread import SPREAD
from solutions.lab04_stability.mistakes_table import TABLE
from solutions.lab04_stability.mistakes_training import TRAINING

MISTAKES: tuple[Mistake, ...] = (*NUMBERS, *SPREAD, *OUTPUTS, *GRADIENTS, *LEAK, *TABLE, *TRAINING, *ERROR)
