"""All the mistakes of lab 3, each a named wrong source with a sentence a student can act on.

Their kinds stand in the modules imported here. Every one is wrong by the contract, and only in the way
its title says; the sources are small edits of `plain`, so that what differs is what is wrong.
"""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab03_group_norm.mistakes_backward import INPUT
from solutions.lab03_group_norm.mistakes_backward_rest import NUMERICS as BACKWARD_NUMERICS
from solutions.lab03_group_norm.mistakes_backward_rest import PARAMETERS
from solutions.lab03_group_norm.mistakes_builtin import BUILTIN
from solutions.lab03_group_norm.mistakes_formula import FORMULA
from solutions.lab03_group_norm.mistakes_groups import GROUPS
from solutions.lab03_group_norm.mistakes_instance import INSTANCE
from solutions.lab03_group_norm.mistakes_instance_rest import REST as INSTANCE_REST
from solutions.lab03_group_norm.mistakes_interface import ERRORS, INTERFACE, OPTIONS
from solutions.lab03_group_norm.mistakes_numerics import GRADIENTS, NUMERICS
from solutions.lab03_group_norm.mistakes_shape import SHAPE

MISTAKES: tuple[Mistake, ...] = (
    *BUILTIN,
    *GROUPS,
    *FORMULA,
    *INTERFACE,
    *OPTIONS,
    *ERRORS,
    *GRADIENTS,
    *NUMERICS,
    *INSTANCE,
    *INSTANCE_REST,
    *INPUT,
    *PARAMETERS,
    *BACKWARD_NUMERICS,
    *SHAPE,
)
