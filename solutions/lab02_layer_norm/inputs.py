"""What the scenarios of lab 2 are made of: inputs that no mistake can hide behind, and the steps that most scenarios begin with.

Tokens and features differ in mean and spread, numbers of samples, tokens and features differ, weight and bias lie far from 1 and 0,
upstream gradients are random.
"""

from __future__ import annotations

from autograder.checks.check import Draw
from autograder.trace.scenario import Build, Forward, Load, Mode, Recipe

TRAIN, EVAL = Mode(True), Mode(False)
Shape = tuple[int, ...]


def rows(draw: Draw, shape: Shape, **more: object) -> Recipe:
    """An input whose slices along axis 1 (axis 0 of a single row) differ in mean and spread."""
    size = shape[1 if len(shape) > 1 else 0]
    given = {"loc": draw.numbers(-4, 4, size), "scale": draw.numbers(0.5, 3, size), **more}
    return draw.tensor(*shape, **given)  # type: ignore[arg-type]


def upstream(draw: Draw, shape: Shape, **more: object) -> Recipe:
    """An upstream gradient that is neither constant nor orthogonal to anything."""
    return draw.tensor(*shape, loc=0.4, scale=1.5, **more)  # type: ignore[arg-type]


def build(target: str, shape: object, dtype: str | None = "float64", child: bool = False, **kwargs: object) -> Build:
    """Construct the layer for a normalized_shape: an int, a tuple or Sizes."""
    return Build(target, (shape,), kwargs, dtype, child)  # type: ignore[arg-type]


def affine(draw: Draw, *shape: int, bias: bool = True) -> Load:
    """Put numbers into weight (and bias), a different one at each position."""
    state = {"weight": draw.tensor(*shape, loc=-1.5)}
    if bias:
        state["bias"] = draw.tensor(*shape, loc=2.0)
    return Load(state, fill=True)


def saved(draw: Draw, *shape: int, bias: bool = True) -> Load:
    """A state dictionary as torch.nn writes it."""
    state = {"weight": draw.tensor(*shape, loc=2.0)}
    if bias:
        state["bias"] = draw.tensor(*shape)
    return Load(state)


def call(draw: Draw, shape: Shape, **more: object) -> Forward:
    """Call the layer on an input of a shape."""
    return Forward(rows(draw, shape, **more))


def step(draw: Draw, shape: Shape, x_requires_grad: bool = True, **more: object) -> Forward:
    """Call the layer and go backwards; a dtype and a layout hold for the gradient that arrives, too."""
    same = {key: more[key] for key in ("dtype", "layout") if key in more}
    return Forward(rows(draw, shape, **more), upstream(draw, shape, **same), x_requires_grad=x_requires_grad)


def twice_without_gradients(draw: Draw, shape: Shape) -> tuple[Forward, Forward]:
    """Call the layer twice when nobody wants a gradient: the second call must not spoil what the first one gave."""
    first, second = (Forward(rows(draw, shape), grad_enabled=False) for _ in range(2))
    return first, second


def outlier(draw: Draw, size: int) -> Recipe:
    """Two rows of that many numbers, one of which lies so far out that it comes out at about the root of `size`."""
    return Recipe((2, size), values=(*draw.numbers(-1, 1, 2 * size)[:-1], 900.0))


def constant(*shape: int, value: float = 2.5) -> Recipe:
    """Equal numbers: without eps there is no answer."""
    size = 1
    for n in shape:
        size *= n
    return Recipe(shape, values=(value,) * size)
