"""What the scenarios of lab 3 are made of: inputs, upstream gradients, states, and how a layer is built.

Inputs are chosen so that no mistake can hide: each channel has its own mean and spread, weight and bias are far from 1 and 0 and
differ inside a group, upstream gradients are random.
"""

from __future__ import annotations

from autograder.checks.check import Draw
from autograder.trace.scenario import Build, Dtype, Forward, Load, Mode, Recipe, Step

TRAIN, EVAL = Mode(True), Mode(False)


def values(draw: Draw, *shape: int, **more: object) -> Recipe:
    """An input whose channels differ in mean and spread, so that mixing them up shows."""
    c = shape[1]
    given = {"loc": draw.numbers(-4, 4, c), "scale": draw.numbers(0.5, 3, c), **more}
    return draw.tensor(*shape, **given)  # type: ignore[arg-type]


def upstream(draw: Draw, *shape: int, **more: object) -> Recipe:
    """An upstream gradient that is neither constant nor orthogonal to anything."""
    return draw.tensor(*shape, loc=0.4, scale=1.5, **more)  # type: ignore[arg-type]


def constant(*shape: int) -> Recipe:
    """An input of one number: its variance is exactly 0."""
    size = 1
    for n in shape:
        size *= n
    return Recipe(shape, values=(2.5,) * size)


def forward(draw: Draw, *shape: int, **more: object) -> Forward:
    """A call on such an input."""
    return Forward(values(draw, *shape, **more))


def both_ways(draw: Draw, *shape: int, x_requires_grad: bool = True, **more: object) -> Forward:
    """A call and its backward pass; the gradient that arrives has the dtype and the layout of the input."""
    alike = {key: more[key] for key in ("dtype", "layout") if key in more}
    return Forward(values(draw, *shape, **more), upstream(draw, *shape, **alike), x_requires_grad=x_requires_grad)


def group_norm(
    groups: int, channels: int, dtype: Dtype | None = "float64", child: bool = False, **kwargs: object
) -> Build:
    """GroupNorm(groups, channels, ...)."""
    return Build("GroupNorm", (groups, channels), kwargs, dtype, child)  # type: ignore[arg-type]


def instance_norm(channels: int, dtype: Dtype | None = "float64", child: bool = False, **kwargs: object) -> Build:
    """InstanceNorm2d(channels, ...)."""
    return Build("InstanceNorm2d", (channels,), kwargs, dtype, child)  # type: ignore[arg-type]


def refused(build: Build, x: Recipe, *before: Step) -> tuple[Step, ...]:
    """A layer that is built when it is first called, on an input that may be refused: either of the two may refuse."""
    return (Build(build.target, build.args, build.kwargs, build.dtype, at_first_call=not before), *before, Forward(x))


def affine(draw: Draw, channels: int) -> Load:
    """A weight and a bias far from 1 and 0, different in every channel."""
    return Load({"weight": draw.tensor(channels, loc=-1.5), "bias": draw.tensor(channels, loc=2.0)}, fill=True)


def torch_state(draw: Draw, channels: int) -> Load:
    """A state dictionary as torch.nn writes it."""
    return Load({"weight": draw.tensor(channels, loc=2.0), "bias": draw.tensor(channels)})
