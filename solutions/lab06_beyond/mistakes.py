"""All the mistakes of lab 6, each a named wrong source with a sentence a student can act on.

Their kinds stand in the modules imported here. Every one is wrong by the task text, and only in the way its title says; the sources
are small edits of `plain`, so that what differs is what is wrong.
"""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab06_beyond.mistakes_clipping import CLIPPING
from solutions.lab06_beyond.mistakes_correction import CORRECTION
from solutions.lab06_beyond.mistakes_evaluation import EVALUATED
from solutions.lab06_beyond.mistakes_gradients import GRADIENTS
from solutions.lab06_beyond.mistakes_interface import INTERFACE
from solutions.lab06_beyond.mistakes_layer import LAYER
from solutions.lab06_beyond.mistakes_running import RUNNING
from solutions.lab06_beyond.mistakes_weight import FORWARD
from solutions.lab06_beyond.mistakes_weight_rest import REST

MISTAKES: tuple[Mistake, ...] = (
    *CORRECTION,
    *CLIPPING,
    *RUNNING,
    *EVALUATED,
    *INTERFACE,
    *LAYER,
    *GRADIENTS,
    *FORWARD,
    *REST,
)
