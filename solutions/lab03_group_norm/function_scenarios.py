"""What is asked of the functions of lab 3: statistics_shape, the steps towards the layer, and the backward pass by hand."""

from __future__ import annotations

from autograder.checks.check import Draw
from autograder.trace.scenario import Argument, Call, Recipe, Scenario
from solutions.lab03_group_norm.drawing import constant, upstream, values


def call(name: str, target: str, *args: object, **kwargs: object) -> Scenario:
    """One call of a function."""
    return Scenario(name, (Call(target, args, kwargs),))  # type: ignore[arg-type]


def statistics_shapes(draw: Draw) -> tuple[Scenario, ...]:
    """All four kinds, by position and by keyword, with sizes that are all different, and with some that are equal."""
    n, l, c = (int(draw.number(2, 6)) for _ in range(3))  # noqa: E741
    sizes = ((2, 3, 8), (5, 2, 6), (n, 6 + l, 4 * c))
    kinds = (("batch", {}), ("layer", {}), ("token", {}))
    by_kind = [
        call(f'"{kind}", (N, L, C) = {size}', "statistics_shape", kind, *size) for size in sizes for kind, _ in kinds
    ]
    groups = (2, 4, 1, 8, 3, 6)
    grouped = [
        call(f'"group", {g} groups, (N, L, C) = {size}', "statistics_shape", "group", *size, g)
        for size in sizes
        for g in groups
        if size[2] % g == 0
    ]
    words = {"n": 3, "l": 5, "c": 4}
    named = [
        call(f'"{kind}", arguments by keyword', "statistics_shape", kind=kind, **words, **more)
        for kind, more in (*kinds, ("group", {"num_groups": 2}))
    ]
    beside = [
        call(f'"{kind}", with a number of groups that does not matter', "statistics_shape", kind, 2, 3, 8, 4)
        for kind, _ in kinds
    ]
    undivided = [
        call(f'"{kind}", with a number of groups that does not divide C', "statistics_shape", kind, 2, 3, 8, 5)
        for kind, _ in kinds
    ]
    # Sizes of 1, and equal ones: each keeps its axis.
    small = [
        call(f'"{kind}", (N, L, C) = {size}', "statistics_shape", kind, *size, *more)
        for size in ((1, 1, 4), (4, 4, 4), (3, 1, 1))
        for kind, more in (("token", ()), ("layer", ()), ("batch", ()), ("group", (size[2],)))
    ]
    return (*by_kind, *grouped, *named, *beside, *undivided, *small)


def unknown_kinds(draw: Draw) -> tuple[Scenario, ...]:
    """A kind that is none of the four, with and without a number of groups; and one that is, for which nothing may be raised.

    Without the last, a function that raises for everything, or is not there at all, would do.
    """
    del draw  # words, not numbers
    return tuple(
        call(f'kind "{kind}"', "statistics_shape", kind, 2, 3, 4, *groups)
        for kind, groups in (
            *((word, ()) for word in ("instance", "tokens", "bogus", "bn", "")),
            *((word, (2,)) for word in ("instance", "rms", "groups", "group")),
        )
    )


def grouping(draw: Draw) -> tuple[Scenario, ...]:
    """to_groups for all ranks and layouts."""
    shapes = ((2, 4), (2, 6), (3, 4, 2), (2, 6, 3), (2, 4, 2, 3), (2, 4, 2, 1, 2))
    found = [
        call(f"x of shape {shape}, {g} groups", "to_groups", values(draw, *shape), g)
        for shape in shapes
        for g in (2, 1, 4, 3)
        if shape[1] % g == 0
    ]
    found += [
        call(f"{layout} x, 2 groups", "to_groups", values(draw, 2, 4, 3, layout=layout), 2)
        for layout in ("transposed", "strided", "channels_last")
    ]
    return (*found, call("float32", "to_groups", values(draw, 2, 4, 3, dtype="float32"), 2))


def statistics(draw: Draw) -> tuple[Scenario, ...]:
    """group_statistics of (N, G, m)."""
    shapes = ((2, 3, 4), (3, 2, 2), (1, 2, 3), (2, 1, 5), (3, 3, 3))
    return tuple(
        call(f"grouped of shape {shape}", "group_statistics", values(draw, *shape, scale=2.0)) for shape in shapes
    )


def normalizing(draw: Draw) -> tuple[Scenario, ...]:
    """normalize_groups with statistics that are not those of its input."""
    return tuple(
        call(
            f"grouped of shape ({n}, {g}, {m}), eps {eps}",
            "normalize_groups",
            draw.tensor(n, g, m, loc=2.0, scale=3.0),
            draw.tensor(n, g),
            draw.tensor(n, g, positive=True),
            eps,
        )
        for n, g, m, eps in ((2, 3, 4, 0.5), (3, 2, 2, 0.1), (3, 3, 3, 0.3), (2, 1, 3, 1e-5))
    )


def ungrouping(draw: Draw) -> tuple[Scenario, ...]:
    """from_groups back to all ranks."""
    shapes = ((2, 6), (2, 4, 3), (3, 4, 2, 2), (1, 2, 2, 1, 3))
    return tuple(
        call(f"back to {shape}", "from_groups", draw.tensor(shape[0], 2, _size(shape) // shape[0] // 2), shape)
        for shape in shapes
    )


def scaling(draw: Draw) -> tuple[Scenario, ...]:
    """scale_channels for all ranks; weight and bias differ from channel to channel."""
    shapes = ((2, 3), (3, 3), (2, 3, 4), (2, 3, 3), (3, 3, 3), (2, 4, 4, 3), (2, 2, 1, 2, 3))
    return tuple(
        call(
            f"x_hat of shape {shape}",
            "scale_channels",
            draw.tensor(*shape),
            draw.tensor(shape[1], loc=-1.5),
            draw.tensor(shape[1], loc=2.0),
        )
        for shape in shapes
    )


def backward(draw: Draw, target: str, shape: tuple[int, ...], groups: int, *eps: float, **x: object) -> Scenario:
    """One call of a backward function; its name says the shape."""
    alike = {key: x[key] for key in ("dtype", "layout") if key in x}
    weight = draw.tensor(shape[1], loc=-1.5, **{k: v for k, v in alike.items() if k == "dtype"})  # type: ignore[arg-type]
    name = f"x of shape {shape}, {groups} groups" + (f", eps {eps[0]:g}" if eps else ", eps left out")
    given = upstream(draw, *shape, **alike), values(draw, *shape, **x), groups, weight, *eps
    return call(", ".join([name, *(str(v) for v in alike.values())]), target, *given)


def backward_steps(draw: Draw) -> tuple[Scenario, ...]:
    """group_backward_steps for ranks 2, 3 and 4."""
    sizes = (((2, 4, 2), 2, 0.5), ((3, 6), 2, 0.3), ((2, 6, 3), 3, 0.1), ((2, 3, 2), 1, 0.2), ((2, 3, 3), 3, 1e-5))
    larger = (((2, 4, 2, 3), 2, 0.4),)
    return tuple(backward(draw, "group_backward_steps", *size) for size in (*sizes, *larger))


def backward_values(draw: Draw) -> tuple[Scenario, ...]:
    """group_norm_backward for ranks 2 to 5, some with one group, some with as many groups as channels."""
    sizes = (
        ((2, 4, 2), 2, 0.1),
        ((3, 4), 2, 0.5),
        ((2, 6), 2, 0.2),
        ((2, 6, 2), 3, 0.3),
        ((3, 6, 3), 2, 1e-5),
        ((2, 3, 4), 1, 0.2),
        ((2, 3, 4), 3, 0.2),
        ((4, 4, 4), 2, 0.3),
        ((1, 4, 3), 2, 0.3),
        ((2, 4, 2, 3), 2, 0.4),
        ((3, 4, 1, 2), 4, 0.4),
        ((2, 4, 2, 1, 2), 2, 0.3),
    )
    return tuple(backward(draw, "group_norm_backward", *size) for size in sizes)


def backward_numerics(draw: Draw) -> tuple[Scenario, ...]:
    """Keywords, the default eps, dtypes, layouts, a large mean, small and vanishing variances."""
    target = "group_norm_backward"
    named = backward(draw, target, (2, 4, 2), 2, 0.4).steps[0]
    assert isinstance(named, Call)
    words = dict(zip(("grad_out", "x", "num_groups", "weight", "eps"), named.args, strict=True))
    flat: tuple[Argument, ...] = (upstream(draw, 2, 4, 2), constant(2, 4, 2), 2, draw.tensor(4, loc=-1.5), 0.4)
    return (
        Scenario("arguments by keyword", (Call(target, (), words),)),
        backward(draw, target, (2, 4, 2), 2),
        backward(draw, target, (2, 4, 3), 2, scale=0.01),
        backward(draw, target, (2, 6, 2), 3, 1e-5, dtype="float32"),
        backward(draw, target, (3, 6, 4), 2, 1e-5, dtype="float32", loc=100.0, scale=1.0),
        backward(draw, target, (3, 4), 2, 0.2, layout="transposed"),
        backward(draw, target, (2, 4, 3), 2, 0.2, layout="channels_last"),
        backward(draw, target, (2, 4, 2, 3), 2, 0.2, layout="channels_last"),
        backward(draw, target, (2, 4, 3), 2, 0.2, layout="transposed"),
        backward(draw, target, (2, 4, 3), 2, 0.2, layout="strided", dtype="float32"),
        backward(draw, target, (2, 4, 3), 2, 0.0, scale=0.01),
        call("a constant x", target, *flat),
        backward(draw, target, (2, 3), 3, 0.5),  # one value per group
        backward(draw, target, (1, 4, 3), 2, 0.2, loc=1.0),
        backward(draw, target, (1, 4), 2, 0.2),
        backward(draw, target, (3, 1, 2), 1, 0.2),
        backward(draw, target, (2, 4, 1, 2, 1, 2), 2, 0.2),
        backward(draw, target, (2, 4, 3), 2, 1e-8, loc=0.0, scale=1e-4),
        backward(draw, target, (4, 4), 2, 0.2, layout="transposed"),
        backward(draw, target, (2, 4, 3), 2, 1e-14, loc=0.0, scale=1e-6),
        call(
            "weights of 0",
            target,
            upstream(draw, 2, 4, 2),
            values(draw, 2, 4, 2),
            2,
            Recipe((4,), values=(0.0, 1.5, -2.0, 0.0)),
            0.2,
        ),
        Scenario(
            "two calls of one shape",
            tuple(step for _ in range(2) for step in backward(draw, target, (2, 4, 2), 2, 0.3).steps),
        ),
    )


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size
