"""What the scenarios of lab 3 are made of: inputs, upstream gradients, states, and how a layer is built.

Inputs are chosen so that no mistake can hide: each channel has its own mean and spread, weight and bias are far from 1 and 0 and
differ inside a group, upstream gradients are random.
"""

from __future__ import annotations

import math

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


def outlier(draw: Draw, *shape: int) -> Recipe:
    """An input whose last number lies so far out that it comes out at about the root of its group's size."""
    size = math.prod(shape)
    return Recipe(shape, values=(*draw.numbers(-1, 1, size)[:-1], 900.0))


def odd_affine(
    *, weight: tuple[float, ...] = (0.0, 1.5, -2.0, 0.0), bias: tuple[float, ...] = (1.0, -3.0, 2.0, 0.0)
) -> Load:
    """Weights that cannot be divided by, biases that add up to 0."""
    given = {"weight": Recipe((len(weight),), values=weight), "bias": Recipe((len(bias),), values=bias)}
    return Load(given, fill=True)


def without_gradients(draw: Draw, *shape: int, **more: object) -> Forward:
    """A call of which nobody wants a gradient."""
    return Forward(values(draw, *shape, **more), grad_enabled=False)


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


def refused(build: Build, x: Recipe, *before: Step, grad_enabled: bool = True) -> tuple[Step, ...]:
    """A layer that is built when it is first called, on an input that may be refused: either of the two may refuse."""
    return (
        Build(build.target, build.args, build.kwargs, build.dtype, at_first_call=not before),
        *before,
        Forward(x, grad_enabled=grad_enabled),
    )


def affine(draw: Draw, channels: int) -> Load:
    """A weight and a bias far from 1 and 0, different in every channel."""
    return Load({"weight": draw.tensor(channels, loc=-1.5), "bias": draw.tensor(channels, loc=2.0)}, fill=True)


def torch_state(draw: Draw, channels: int) -> Load:
    """A state dictionary as torch.nn writes it."""
    return Load({"weight": draw.tensor(channels, loc=2.0), "bias": draw.tensor(channels)})
