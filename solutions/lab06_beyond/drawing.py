"""How lab 6 draws: batches whose mean and spread are known beforehand, so that a scenario can say what is clipped."""

from __future__ import annotations

import math

from autograder.checks.check import Draw
from autograder.trace.scenario import Build, Load, Mode, Recipe

TRAIN, EVAL = Mode(True), Mode(False)
WIDE = {"r_max": 60.0, "d_max": 60.0}  # limits that nothing here reaches


def batch(draw: Draw, n: int, loc: tuple[float, ...], scale: tuple[float, ...]) -> Recipe:
    """Return (n, C) numbers whose standard deviation in channel k lies between 0.7 and 1.8 times scale[k].

    n evenly spaced values, turned by another amount in each channel, and some noise: a normal draw of three numbers may have
    any spread at all.
    """
    even = [3.0 * i / (n - 1) - 1.5 for i in range(n)]
    rows = [
        loc[k] + scale[k] * (even[(i + k) % n] * (1 if k % 2 else -1) + draw.number(-0.3, 0.3))
        for i in range(n)
        for k in range(len(loc))
    ]
    return Recipe((n, len(loc)), values=tuple(round(value, 4) for value in rows))


def numbers(*values: float) -> Recipe:
    """Return a 1-d tensor of given numbers."""
    return Recipe((len(values),), values=values)


def x_of(draw: Draw, shape: tuple[int, ...], **more: object) -> Recipe:
    """Return an input whose channels differ in mean and spread, so that mixing them up shows."""
    c = shape[1]
    given = {"loc": draw.numbers(-4, 4, c), "scale": draw.numbers(0.7, 3, c), **more}
    return draw.tensor(*shape, **given)  # type: ignore[arg-type]


def grad_of(draw: Draw, shape: tuple[int, ...], **more: object) -> Recipe:
    """Return an upstream gradient that is neither constant nor orthogonal to anything."""
    return draw.tensor(*shape, loc=0.4, scale=1.5, **more)  # type: ignore[arg-type]


def affine(draw: Draw, c: int) -> Load:
    """Return numbers for weight and bias, far from 1 and 0."""
    return Load({"weight": draw.tensor(c, loc=-1.5), "bias": draw.tensor(c, loc=2.0)}, fill=True)


def running(draw: Draw, c: int) -> Load:
    """Return running values away from 0 and 1."""
    mean = numbers(*draw.numbers(-2, 2, c))
    return Load({"running_mean": mean, "running_std": numbers(*draw.numbers(1.3, 2.8, c))}, fill=True)


def renorm(c: int, dtype: str | None = "float64", child: bool = False, **kwargs: object) -> Build:
    """Return the construction of a BatchRenorm1d."""
    return Build("BatchRenorm1d", (c,), kwargs, dtype, child)  # type: ignore[arg-type]


def linear(inputs: int, outputs: int, dtype: str | None = "float64", child: bool = False, **kwargs: object) -> Build:
    """Return the construction of a WeightNormLinear."""
    return Build("WeightNormLinear", (inputs, outputs), kwargs, dtype, child)  # type: ignore[arg-type]


def weights(draw: Draw, inputs: int, outputs: int, bias: bool = True, size: float = 1.0, fill: bool = True) -> Load:
    """Return numbers for g, v and the bias: g is not the length of v, and its signs differ."""
    signs = tuple((-1) ** k * draw.number(0.6, 2.5) for k in range(outputs))
    state = {
        "weight_g": Recipe((outputs, 1), values=signs),
        "weight_v": draw.tensor(outputs, inputs, loc=0.6 * size, scale=size),
    }
    return Load(state | ({"bias": draw.tensor(outputs, loc=1.5)} if bias else {}), fill=fill)


def size_of(shape: tuple[int, ...]) -> int:
    """Return the number of values in a shape."""
    return math.prod(shape)
