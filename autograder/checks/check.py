"""What a lab is made of: checks with points, named mistakes, honest variants. Data only; `grading` runs them.

A Check promises one thing in its title and keeps the promise by scenarios that are drawn anew from a seed. Its `keys` say which
addresses of a trace it looks at, so that one fault costs one check and not all of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from autograder.trace.network import Layer, Network
from autograder.trace.scenario import Dtype, Layout, Recipe, Scenario, Value, matches
from autograder.trace.trace import Trace

ANYTHING = ("*",)


@dataclass
class Draw:
    """The random choices of one check in one grading run: the same seed and name always give the same scenarios."""

    seed: int
    name: str
    count: int = 0
    _stream: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Key the stream with the seed and the name, so that checks do not disturb one another."""
        entropy = np.random.SeedSequence([self.seed % (1 << 63), zlib.crc32(self.name.encode())])
        self._stream = np.random.Generator(np.random.Philox(entropy))

    def tensor(
        self,
        *shape: int,
        loc: float | tuple[float, ...] = 0.0,
        scale: float | tuple[float, ...] = 1.0,
        dtype: Dtype = "float64",
        layout: Layout = "contiguous",
        positive: bool = False,
    ) -> Recipe:
        """Return the recipe of a tensor with a seed of its own."""
        seed = int(self._stream.integers(1 << 62))
        return Recipe(shape, seed, loc, scale, dtype, layout, None, positive)

    def network(self, *layers: Layer, training: bool = True, changes: bool = False, gradients: bool = False) -> Network:
        """Return a model with numbers of its own, in float64."""
        return Network(
            layers, int(self._stream.integers(1 << 40)), training=training, changes=changes, gradients=gradients
        )

    def indices(self, *shape: int, below: int) -> Recipe:
        """Return the recipe of an int64 tensor of numbers from 0 to below - 1: classes, or places in a batch."""
        drawn = self._stream.integers(below, size=shape)
        return Recipe(shape, dtype="int64", values=tuple(float(n) for n in drawn.ravel()))

    def number(self, low: float, high: float) -> float:
        """Return a number between two, with two decimals so that it reads well in a report."""
        return round(float(self._stream.uniform(low, high)), 2)

    def numbers(self, low: float, high: float, count: int) -> tuple[float, ...]:
        """Return several such numbers."""
        return tuple(self.number(low, high) for _ in range(count))


@dataclass(frozen=True)
class Check:
    """One promise of an exercise, worth its points or nothing.

    `scenarios` draws what to run; `keys` are the patterns of the addresses that are compared (* and ? stand for
    anything); `contract` tells whether a plain file can be graded on it, or whether it belongs to a step that only the
    notebook has.
    """

    name: str
    exercise: str
    points: float
    title: str
    scenarios: Callable[[Draw], tuple[Scenario, ...]]
    keys: tuple[str, ...] = ANYTHING
    contract: bool = True
    autograd: bool = True  # may the code under test run torch's autograd?
    builtins: bool = False  # may torch's own normalization run in it? Only where the grader's models hold it
    tolerance: float | None = None  # absolute; None derives one per scenario (checks.tolerance)
    raises: tuple[str, ...] = ("ValueError",)  # what the reference may raise; anything else is a fault of ours
    secret: bool = False  # a prediction: practice says "no", not what the answer is

    def offences(self, trace: Trace) -> tuple[str, ...]:
        """Return what ran in a trace that may not do the work here: torch's normalization, classes of it, its autograd."""
        own = () if self.builtins else (*trace.operators, *trace.inherits)
        return (*own, *(("autograd",) if trace.autograd and not self.autograd else ()))

    def looks_at(self, address: str) -> bool:
        """Tell whether this check compares what stands at an address."""
        return matches(address, self.keys)


def prediction(name: str, target: str, title: str) -> Check:
    """Return the check of a number that students predict: one point, in the notebook only, right to two decimals either way."""
    asked = (Scenario("the prediction", (Value(target),)),)
    return Check(name, target, 1, title, lambda _: asked, contract=False, tolerance=0.006, secret=True)


@dataclass(frozen=True)
class Mistake:
    """A named wrong module: what is wrong, what a student sees, how to think about it, and where the book explains it."""

    id: str
    exercise: str
    check: str
    title: str
    symptom: str
    hint: str
    page: str
    source: str
    seen_in: tuple[str, ...] = ()


@dataclass(frozen=True)
class Variant:
    """An honest solution in a style of its own; it must always get full marks."""

    id: str
    title: str
    sources: Mapping[str, str]

    @property
    def file(self) -> str:
        """The sources as one Python file."""
        return "\n\n".join(self.sources.values()) + "\n"


@dataclass(frozen=True)
class Lab:
    """A lab as the grader is given it: the reference answers by name, the checks, the mistakes and what they are edits of."""

    name: str
    title: str
    contract: tuple[str, ...]
    checks: tuple[Check, ...]
    reference: Mapping[str, object]
    mistakes: tuple[Mistake, ...] = ()
    plain: Mapping[str, str] = field(default_factory=dict)  # the source of each answer that the mistakes are edits of

    def check(self, name: str) -> Check:
        """Return the check of that name; KeyError if the lab has none."""
        if name not in self._by_name:
            raise KeyError(f"no check is called {name!r}")
        return self._by_name[name]

    def alike(self, check: Check) -> tuple[Check, ...]:
        """Return the checks that ask the same as a check, itself among them: their scenarios are drawn by one function.

        They are drawn once, under the name of the first, and run once; each of the checks looks at its part of what that shows.
        """
        return self._alike.get((check.exercise, check.scenarios), (check,))

    @cached_property
    def _alike(self) -> dict[tuple[str, Callable[[Draw], tuple[Scenario, ...]]], tuple[Check, ...]]:
        found: dict[tuple[str, Callable[[Draw], tuple[Scenario, ...]]], tuple[Check, ...]] = {}
        for check in self.checks:
            key = check.exercise, check.scenarios
            found[key] = (*found.get(key, ()), check)
        return found

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all checks."""
        return frozenset(self._by_name)

    @cached_property
    def _by_name(self) -> dict[str, Check]:
        return {check.name: check for check in self.checks}
