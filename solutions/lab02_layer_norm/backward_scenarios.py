"""What is asked of the hand-written backward passes: of layer_norm_backward, of its steps, and of RMSNorm's gradient."""

from __future__ import annotations

from autograder.checks.check import Draw
from autograder.trace.scenario import Call, Recipe, Scenario
from solutions.lab02_layer_norm.inputs import Shape, rows, upstream

TARGET = "layer_norm_backward"


def arguments(draw: Draw, shape: Shape, **x: object) -> tuple[Recipe, Recipe, Recipe]:
    """grad_out, x and weight for an x of a shape; a dtype and a layout hold for all three, as far as they can."""
    same = {key: x[key] for key in ("dtype", "layout") if key in x}
    weight = draw.tensor(shape[-1], loc=-1.5, dtype=x.get("dtype", "float64"))  # type: ignore[arg-type]
    return upstream(draw, shape, **same), rows(draw, shape, **x), weight


def _call(draw: Draw, target: str, shape: Shape, *eps: float, name: str = "", **x: object) -> Scenario:
    said = name or f"x of shape {shape}" + (f", eps {eps[0]:g}" if eps else ", eps left out")
    return Scenario(said, (Call(target, (*arguments(draw, shape, **x), *eps)),))


def steps(draw: Draw, target: str) -> tuple[Scenario, ...]:
    """Two axes, three, four; as many rows as features; few values."""
    asked: tuple[tuple[Shape, float], ...] = (
        ((3, 2), 0.5),
        ((2, 4), 0.1),
        ((3, 3), 0.3),
        ((2, 3, 4), 1e-5),
        ((2, 2, 3, 2), 0.2),
    )
    return tuple(_call(draw, target, shape, eps) for shape, eps in asked)


def pairs(draw: Draw) -> tuple[Scenario, ...]:
    """(N, D) of several sizes."""
    asked = ((3, 2, 0.1), (2, 3, 0.5), (1, 5, 0.2), (4, 4, 0.3), (3, 7, 1e-5))
    return tuple(_call(draw, TARGET, (n, d), eps) for n, d, eps in asked)


def ranks(draw: Draw) -> tuple[Scenario, ...]:
    """Three and four axes: the statistics stay per row, the sums of the parameters run over every leading axis."""
    asked: tuple[Shape, ...] = ((2, 3, 4), (4, 3, 2), (1, 3, 2), (3, 1, 2), (3, 3, 3), (2, 3, 2, 3), (2, 2, 1, 2, 3))
    epsilons = (1e-3, 0.2, 0.5, 0.4, 0.3, 0.1, 0.2)
    return tuple(_call(draw, TARGET, shape, eps) for shape, eps in zip(asked, epsilons, strict=True))


def numerics(draw: Draw) -> tuple[Scenario, ...]:
    """eps, dtypes, layouts, small variances, arguments left alone."""
    words = dict(zip(("grad_out", "x", "weight", "eps"), (*arguments(draw, (3, 2)), 0.4), strict=True))
    single = {"dtype": "float32"}
    return (
        Scenario("arguments by keyword", (Call(TARGET, (), words),)),
        _call(draw, TARGET, (2, 3)),
        _call(draw, TARGET, (3, 4), scale=0.01, loc=0.02, name="small numbers"),
        _call(draw, TARGET, (3, 5), 1e-5, **single, name="float32"),
        _call(draw, TARGET, (2, 3, 4), 0.1, **single, name="float32, three axes"),
        _call(draw, TARGET, (4, 3), 0.2, layout="transposed", name="transposed"),
        _call(draw, TARGET, (2, 4, 3), 0.2, layout="transposed", name="transposed, three axes"),
        _call(draw, TARGET, (3, 4), 0.2, **single, layout="strided", name="strided, float32"),
        _call(draw, TARGET, (2, 4), 1e-3, loc=1.5, scale=0.0, name="constant rows"),
        _call(draw, TARGET, (3, 1), 0.3, name="one value in a row"),
        _call(draw, TARGET, (1, 4), 0.2, name="a single row, left alone"),
        _call(draw, TARGET, (3, 3), 0.2, layout="transposed", name="transposed, as many rows as features"),
        _call(draw, TARGET, (3, 4), 1e-14, loc=0.0, scale=1e-6, name="rows that hardly vary"),
        _call(draw, TARGET, (2, 3), 0.0, name="eps 0"),
        Scenario(
            "a weight of 0", (Call(TARGET, (*arguments(draw, (2, 3))[:2], Recipe((3,), values=(0.0, 1.5, -2.0)), 0.2)),)
        ),
        Scenario(
            "two calls of one shape", tuple(Call(TARGET, (*arguments(draw, (2, 2, 1, 3)), 0.3)) for _ in range(2))
        ),
    )


def large_mean(draw: Draw) -> tuple[Scenario, ...]:
    """float32 with a mean of 100 standard deviations."""
    far = {"dtype": "float32", "loc": 100.0, "scale": 1.0}
    return tuple(_call(draw, TARGET, shape, 1e-5, **far) for shape in ((4, 16), (2, 3, 12), (3, 24)))
