"""All the mistakes of lab 1, each a named wrong source with a sentence a student can act on.

Their kinds stand in the modules imported here. Every one is wrong by the contract, and only in the way
its title says; the sources are small edits of `plain`, so that what differs is what is wrong.
"""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab01_batch_norm.mistakes_axes import AXES
from solutions.lab01_batch_norm.mistakes_backward import INPUT
from solutions.lab01_batch_norm.mistakes_backward_rest import NUMERICS as BACKWARD_NUMERICS
from solutions.lab01_batch_norm.mistakes_backward_rest import PARAMETERS
from solutions.lab01_batch_norm.mistakes_builtin import BUILTIN
from solutions.lab01_batch_norm.mistakes_eps import EPS
from solutions.lab01_batch_norm.mistakes_errors import ERRORS
from solutions.lab01_batch_norm.mistakes_formula import FORMULA
from solutions.lab01_batch_norm.mistakes_function import FUNCTION
from solutions.lab01_batch_norm.mistakes_interface import INTERFACE
from solutions.lab01_batch_norm.mistakes_modes import MODES
from solutions.lab01_batch_norm.mistakes_numerics import NUMERICS
from solutions.lab01_batch_norm.mistakes_options import OPTIONS
from solutions.lab01_batch_norm.mistakes_running import RUNNING

MISTAKES: tuple[Mistake, ...] = (
    *BUILTIN,
    *INTERFACE,
    *FORMULA,
    *AXES,
    *RUNNING,
    *MODES,
    *EPS,
    *OPTIONS,
    *ERRORS,
    *NUMERICS,
    *FUNCTION,
    *INPUT,
    *PARAMETERS,
    *BACKWARD_NUMERICS,
)
