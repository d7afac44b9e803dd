"""A Trace: what was seen while a scenario ran, as data.

Each step leaves one Observation: a flat map from an address that reads like code (`y`, `x.grad`, `m.running_var`,
`result[0]`) to what stood there, or the failure that ended the scenario. A trace says nothing about right or wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Tensor:
    """The numbers of a tensor. `dtype` is torch's name for it; bfloat16 numbers are carried as float32."""

    dtype: str
    array: npt.NDArray[np.generic]

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's shape."""
        return tuple(int(n) for n in self.array.shape)


@dataclass(frozen=True)
class Opaque:
    """Something that is no tensor, number or text; only the name of its type is kept."""

    type: str


Seen: TypeAlias = Tensor | Opaque | bool | int | float | str | None


@dataclass(frozen=True)
class Frame:
    """One line of the student's own code in a traceback."""

    function: str
    line: int
    text: str


@dataclass(frozen=True)
class Failure:
    """An exception: its class, the classes that it derives from, its message, and the student's own frames."""

    type: str
    bases: tuple[str, ...]
    message: str
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class Observation:
    """What one step showed."""

    seen: Mapping[str, Seen] = field(default_factory=dict)
    failure: Failure | None = None


@dataclass(frozen=True)
class Trace:
    """The observations of one scenario in the order of its steps; fewer than steps when one failed.

    `operators` are torch's normalization operators that ran, `autograd` tells whether a function under test ran a backward
    pass of torch's, `inherits` names torch's normalization classes that a module under test derives from. All three are
    evidence, given by a process that the student controls.
    """

    scenario: str
    observations: tuple[Observation, ...]
    operators: tuple[str, ...] = ()
    autograd: bool = False
    inherits: tuple[str, ...] = ()

    @property
    def took_too_long(self) -> bool:
        """Tell whether the probe had to stop it."""
        return self.failure is not None and self.failure.type == "ScenarioTimeout"

    @property
    def failure(self) -> Failure | None:
        """The failure that ended the scenario, if one did."""
        return self.observations[-1].failure if self.observations else None
