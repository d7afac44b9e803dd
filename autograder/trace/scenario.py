"""A Scenario: what to do with a module or a function, as data.

It is not code and runs nothing: `autograder.probe.run` does what it says. A scenario names its target, so the same one is run
on the reference and on a submission. Tensors are recipes, drawn with numpy's Philox bit stream on either side, so no tensor
travels and both sides see the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from autograder.trace.network import Maker, Network

Dtype = Literal["float16", "float32", "float64", "int64"]
Layout = Literal["contiguous", "transposed", "strided", "channels_last"]

Numbers: TypeAlias = npt.NDArray[np.float64]

MAX_ELEMENTS = 1 << 20  # of one recipe: a scenario is a question, not a load test
MAX_KEPT = 1 << 10  # of one whose numbers are kept


@dataclass(frozen=True)
class Recipe:
    """A tensor to draw: standard normal numbers times `scale` plus `loc`, both per channel (axis 1, or 0 if 1-d) if tuples.

    `values` (row-major) replaces the draw. `through` rounds to that dtype first, so that a float64 run can see exactly the
    numbers of a float32 run. `layout` says how the numbers lie in memory and never changes their values. `at` says that they have
    been drawn elsewhere: where they begin among those that were brought.
    """

    shape: tuple[int, ...]
    seed: int = 0
    loc: float | tuple[float, ...] = 0.0
    scale: float | tuple[float, ...] = 1.0
    dtype: Dtype = "float64"
    layout: Layout = "contiguous"
    values: tuple[float, ...] | None = None
    positive: bool = False
    through: Dtype | None = None
    at: int | None = None

    def __post_init__(self) -> None:
        """Refuse a recipe that cannot be drawn; ValueError says which field is wrong."""
        size = math.prod(self.shape)
        if size > MAX_ELEMENTS or any(n < 0 for n in self.shape):
            raise ValueError(f"shape {self.shape} is negative or holds more than {MAX_ELEMENTS} elements")
        if self.values is not None and len(self.values) != size:
            raise ValueError(f"{len(self.values)} values do not fill the shape {self.shape}")
        channels = self.shape[1 if len(self.shape) > 1 else 0] if self.shape else 1
        for name, given in (("loc", self.loc), ("scale", self.scale)):
            if isinstance(given, tuple) and len(given) != channels:
                raise ValueError(f"{name} has {len(given)} entries for {channels} channels")


@dataclass(frozen=True)
class Sizes:
    """Integers that are given as a list, a torch.Size or (then `of` is where it begins and ends) a range.

    A plain tuple is given as a tuple.
    """

    kind: Literal["list", "Size", "range"]
    of: tuple[int, ...]


class Listed(tuple["Argument", ...]):
    """Arguments that are given as a list, each of any kind; a plain tuple is given as a tuple."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is Listed and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((Listed, tuple(self)))


Plain: TypeAlias = Recipe | Network | Maker | Sizes | bool | int | float | str | None
Argument: TypeAlias = "Plain | tuple[Argument, ...] | Mapping[str, Argument]"


@dataclass(frozen=True)
class Build:
    """Construct the target, and move it to `dtype` if one is given.

    `child` puts it into an nn.Sequential with a forward hook, as real models do. `at_first_call` puts it off until the first
    Forward, where it does not matter which of the two refuses what it is given.
    """

    target: str
    args: tuple[Argument, ...] = ()
    kwargs: Mapping[str, Argument] = field(default_factory=dict)
    dtype: Dtype | None = None
    child: bool = False
    at_first_call: bool = False


@dataclass(frozen=True)
class Cast:
    """Move the module to a dtype, as `m.to(torch.float64)`."""

    dtype: Dtype


@dataclass(frozen=True)
class Mode:
    """Switch to training or evaluation, by `.train()` / `.eval()` or by the attribute `training`."""

    training: bool
    attribute: bool = False


@dataclass(frozen=True)
class Load:
    """Load a state dictionary, strictly, or (`fill`) copy into the named tensors that are there."""

    state: Mapping[str, Recipe]
    fill: bool = False


@dataclass(frozen=True)
class Reload:
    """Put the module's state dictionary into a fresh instance and go on with that one; `copy` deep-copies instead."""

    copy: bool = False


@dataclass(frozen=True)
class Freeze:
    """Set requires_grad to False for the named parameters."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Put:
    """Set a plain attribute of the module to a number, as a training loop may."""

    name: str
    value: float


@dataclass(frozen=True)
class Forward:
    """Call the module on x; with `grad`, run backward with that upstream gradient (or later, by a Backward step)."""

    x: Recipe
    grad: Recipe | None = None
    grad_enabled: bool = True
    x_requires_grad: bool = True
    later: bool = False


@dataclass(frozen=True)
class Twin:
    """Build a second layer with the default options, call it on x in training mode, and let it go: nothing may be shared."""

    x: Recipe


@dataclass(frozen=True)
class Backward:
    """Run the backward pass that a Forward with `later` has put off."""

    grad: Recipe


@dataclass(frozen=True)
class State:
    """Observe the module: parameters, buffers, their shapes, dtypes and values, and the keys of the state dictionary."""


@dataclass(frozen=True)
class Call:
    """Call the target, a function, on arguments."""

    target: str
    args: tuple[Argument, ...] = ()
    kwargs: Mapping[str, Argument] = field(default_factory=dict)


@dataclass(frozen=True)
class Value:
    """Look at the target, a plain value in the notebook (a prediction)."""

    target: str


Step: TypeAlias = Build | Cast | Mode | Load | Reload | Freeze | Put | Forward | Twin | Backward | State | Call | Value
STEPS: dict[str, type[Step]] = {
    cls.__name__: cls
    for cls in (Build, Cast, Mode, Load, Reload, Freeze, Put, Forward, Twin, Backward, State, Call, Value)
}


@dataclass(frozen=True)
class Scenario:
    """A name for people and the steps, run in order until one fails.

    `only` are the patterns of the addresses that it is about (* and ? stand for anything), where it is about less than its check.
    `own_dtype` says that the dtype itself is asked about (an eps that belongs to it): then the truth is the run as it is, not
    the same run in float64.
    """

    name: str
    steps: tuple[Step, ...]
    only: tuple[str, ...] = ("*",)
    own_dtype: bool = False

    @property
    def size(self) -> int:
        """The number of tensor elements it draws: smaller is easier to understand."""
        return sum(math.prod(r.shape) for step in self.steps for r in recipes(step))


@lru_cache(maxsize=1 << 13)
def matches(address: str, patterns: tuple[str, ...]) -> bool:
    """Tell whether an address fits one of the patterns; the brackets of an address are meant as they stand."""
    return any(_fits(address, pattern) for pattern in patterns)


def _fits(address: str, pattern: str) -> bool:
    """Tell whether an address fits a pattern; without a regular expression where that is easy, since to make one takes long."""
    if "*" not in pattern:
        return len(address) == len(pattern) and all(p in ("?", a) for a, p in zip(address, pattern, strict=True))
    if "?" in pattern:
        return fnmatchcase(address, pattern.replace("[", "[[]"))
    head, *parts, tail = pattern.split("*")
    begin, end = len(head), len(address) - len(tail)
    for part in parts:
        at = address.find(part, begin, end)
        if at < 0:
            return False
        begin = at + len(part)
    return begin <= end and address.startswith(head) and address.endswith(tail)


def recipes(step: Step) -> tuple[Recipe, ...]:
    """Return the recipes that a step holds, at any depth, in a fixed order."""
    return tuple(leaf for given in vars(step).values() for leaf in leaves(given) if isinstance(leaf, Recipe))


def leaves(given: object) -> Iterator[object]:
    """Yield what stands in an argument, at any depth of tuples, lists and dictionaries, in a fixed order."""
    if isinstance(given, tuple | list | Mapping):
        for part in given.values() if isinstance(given, Mapping) else given:
            yield from leaves(part)
    else:
        yield given


def changed(step: Step, change: Callable[[object], object]) -> Step:
    """Return the step with something else for each of its leaves."""

    def in_it(given: object) -> object:
        if isinstance(given, tuple):
            return type(given)(map(in_it, given))
        if isinstance(given, Mapping):
            return {key: in_it(part) for key, part in given.items()}
        return change(given)

    return type(step)(**{key: in_it(given) for key, given in vars(step).items()})  # type: ignore[arg-type]


def draw(recipe: Recipe) -> npt.NDArray[np.generic]:
    """Draw the numbers of a recipe, always the same ones: a C-contiguous array in the recipe's dtype.

    Raw Philox words become uniforms u in (0, 1), and pairs of those standard normals by Box and Muller; both are defined here,
    since numpy keeps its raw streams stable between releases but not its distributions.
    """
    if recipe.at is not None:
        here = brought(recipe.at, math.prod(recipe.shape)).reshape(recipe.shape)
        return np.array(here, dtype=_DTYPES[recipe.dtype], order="C")
    # Not kept: what is large, and what is written out (two zeros of different sign are equal).
    kept = recipe.values is None and math.prod(recipe.shape) <= MAX_KEPT
    # A copy, and not ascontiguousarray: it would turn () into (1,).
    return np.array(_drawn(recipe) if kept else _drawn.__wrapped__(recipe), order="C")


_brought: Numbers = np.zeros(0)
_DTYPES = {name: np.dtype(name) for name in get_args(Dtype)}


def bring(numbers: Numbers) -> None:
    """Have these be the numbers that recipes and networks with a place stand for, in place of those before."""
    global _brought
    _brought = numbers


def brought(at: int, count: int) -> Numbers:
    """Return a stretch of the numbers that were brought: a view, to be copied."""
    return _brought[at : at + count]


@lru_cache(maxsize=4096)
def _drawn(recipe: Recipe) -> npt.NDArray[np.generic]:
    """Draw the numbers; the small ones are kept, since a class and a diagnosis draw the same again and again."""
    size = math.prod(recipe.shape)
    if recipe.values is not None:
        numbers = np.array(recipe.values, dtype=np.float64).reshape(recipe.shape)
    else:
        pairs = (size + 1) // 2
        words = np.random.Philox(key=recipe.seed % (1 << 64)).random_raw(2 * pairs)
        u = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        radius, angle = np.sqrt(-2.0 * np.log(u[:pairs])), 2.0 * np.pi * u[pairs:]
        normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:size]
        numbers = normal.reshape(recipe.shape) * _per_channel(recipe.scale, recipe.shape)
        numbers = numbers + _per_channel(recipe.loc, recipe.shape)
        if recipe.positive:
            numbers = np.abs(numbers)
    if recipe.through is not None:
        numbers = numbers.astype(recipe.through)
    return np.array(numbers, dtype=recipe.dtype)


def _per_channel(given: float | tuple[float, ...], shape: tuple[int, ...]) -> npt.NDArray[np.float64] | float:
    if not isinstance(given, tuple):
        return given
    return np.array(given).reshape([-1] + [1] * (len(shape) - 2) if len(shape) > 1 else shape)


def in_dtype(scenario: Scenario, dtype: Dtype) -> Scenario:
    """Return the scenario with every floating tensor and cast moved to a dtype; the numbers stay those of the original."""
    if scenario.own_dtype:
        return scenario

    def moved(leaf: object) -> object:
        if isinstance(leaf, Recipe):
            if leaf.dtype in ("int64", dtype):
                return leaf
            return replace(leaf, dtype=dtype, through=leaf.through or leaf.dtype)
        if isinstance(leaf, Network):
            return leaf.in_dtype(dtype)
        return Maker(leaf.network.in_dtype(dtype)) if isinstance(leaf, Maker) else leaf

    steps: list[Step] = []
    for step in scenario.steps:
        if isinstance(step, Cast):
            steps.append(Cast(dtype))
            continue
        step = changed(step, moved)
        steps.append(replace(step, dtype=dtype) if isinstance(step, Build) else step)
    return replace(scenario, steps=tuple(steps))
