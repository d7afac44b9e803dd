"""All the mistakes of lab 2, each a named wrong source with a sentence a student can act on.

Their kinds stand in the modules imported here. Every one is wrong by the contract, and only in the way
its title says; the sources are small edits of `plain`, so that what differs is what is wrong.
"""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab02_layer_norm.mistakes_axes import AXES_AND_MODES
from solutions.lab02_layer_norm.mistakes_backward import INPUT
from solutions.lab02_layer_norm.mistakes_backward_rest import NUMERICS as BACKWARD_NUMERICS
from solutions.lab02_layer_norm.mistakes_backward_rest import PARAMETERS, RANKS
from solutions.lab02_layer_norm.mistakes_errors import ERRORS
from solutions.lab02_layer_norm.mistakes_formula import FORMULA
from solutions.lab02_layer_norm.mistakes_gradients import GRADIENTS, NUMERICS
from solutions.lab02_layer_norm.mistakes_interface import INTERFACE
from solutions.lab02_layer_norm.mistakes_rms import RMS

MISTAKES: tuple[Mistake, ...] = (
    *INTERFACE,
    *FORMULA,
    *AXES_AND_MODES,
    *ERRORS,
    *GRADIENTS,
    *NUMERICS,
    *INPUT,
    *PARAMETERS,
    *RANKS,
    *BACKWARD_NUMERICS,
    *RMS,
)
