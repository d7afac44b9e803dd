"""What is asked of the functions that only the notebook has: the steps, the two equalities, the backward pass of weight norm."""

from __future__ import annotations

from autograder.checks.check import Draw
from autograder.trace.scenario import Argument, Call, Recipe, Scenario
from solutions.lab06_beyond.drawing import batch, numbers


def _call(name: str, target: str, *args: Argument) -> Scenario:
    return Scenario(name, (Call(target, args),))


def _spread(draw: Draw, c: int) -> Recipe:
    return numbers(*draw.numbers(0.8, 2.4, c))


def statistics(draw: Draw) -> tuple[Scenario, ...]:
    """batch_statistics(x, eps): few values, so that m and m - 1 differ; a large eps, so that its place shows."""
    return tuple(
        _call(
            f"x of shape ({n}, {c}), eps {eps}",
            "batch_statistics",
            draw.tensor(n, c, loc=draw.number(1, 3), scale=2.0),
            eps,
        )
        for n, c, eps in ((3, 2, 0.5), (2, 3, 0.1), (5, 1, 1e-5), (6, 4, 0.3))
    )


def correction(draw: Draw) -> tuple[Scenario, ...]:
    """correction(...): r and d free, and clipped on either side, under limits that differ."""

    def one(name: str, targets: tuple[tuple[float, float], ...], r_max: float, d_max: float) -> Scenario:
        c = len(targets)
        mean, std = draw.numbers(-2, 2, c), draw.numbers(0.8, 2.0, c)
        batch_mean = tuple(round(m + d * s, 3) for (_, d), m, s in zip(targets, mean, std, strict=True))
        sigma = tuple(round(r * s, 3) for (r, _), s in zip(targets, std, strict=True))
        given = (numbers(*batch_mean), numbers(*sigma), numbers(*mean), numbers(*std))
        return _call(name, "correction", *given, r_max, d_max)

    return (
        one("nothing to clip", ((1.7, 0.6), (0.6, -0.9)), 3.0, 5.0),
        one("r too large, d too large", ((4.5, 6.5),), 3.0, 5.0),
        one("r too small, d too small", ((0.2, -7.0),), 3.0, 5.0),
        one("r below 1", ((0.45, 0.3),), 3.0, 5.0),
        one("other limits", ((2.2, 0.7), (0.4, -0.7), (1.1, 0.1)), 1.5, 0.4),
        one("r_max above d_max", ((3.5, 2.5), (0.3, -2.5)), 4.0, 2.0),
        one("r_max = 1, d_max = 0", ((1.8, 0.9), (0.5, -0.9)), 1.0, 0.0),
    )


def corrected(draw: Draw) -> tuple[Scenario, ...]:
    """corrected(...): r and d as if they came from anywhere."""
    return tuple(
        _call(
            f"x of shape ({n}, {c})",
            "corrected",
            draw.tensor(n, c, loc=2.0, scale=3.0),
            draw.tensor(c),
            _spread(draw, c),
            _spread(draw, c),
            draw.tensor(c, loc=0.5),
        )
        for n, c in ((3, 2), (2, 3), (4, 4), (1, 2))
    )


def updated_running(draw: Draw) -> tuple[Scenario, ...]:
    """updated_running(...): momentum is the weight of the new value, 0 and 1 included."""
    return tuple(
        _call(
            f"momentum {momentum}",
            "updated_running",
            draw.tensor(c),
            _spread(draw, c),
            draw.tensor(c, loc=3.0),
            _spread(draw, c),
            momentum,
        )
        for c, momentum in ((2, 0.1), (3, 0.3), (1, 1.0), (2, 0.0), (2, 0.01))
    )


def evaluated(draw: Draw) -> tuple[Scenario, ...]:
    """evaluated(...): no eps a second time, which a small running_std would show."""
    return (
        *(
            _call(f"x of shape ({n}, {c})", "evaluated", draw.tensor(n, c, loc=2.0), draw.tensor(c), _spread(draw, c))
            for n, c in ((3, 2), (1, 3), (4, 4))
        ),
        _call(
            "a small running_std", "evaluated", draw.tensor(3, 2, scale=0.01), draw.tensor(2, scale=0.01),
            numbers(*draw.numbers(0.01, 0.04, 2)),
        ),
    )  # fmt: skip


def equal_batch_norm(draw: Draw) -> tuple[Scenario, ...]:
    """as_batch_norm(...): whatever the running values are, they must not show."""
    return tuple(
        _call(
            f"x of shape ({n}, {c}), eps {eps}",
            "as_batch_norm",
            draw.tensor(n, c, loc=draw.number(-3, 3), scale=2.0),
            draw.tensor(c),
            _spread(draw, c),
            eps,
        )
        for n, c, eps in ((3, 2, 0.5), (2, 3, 1e-5), (5, 1, 0.2))
    )


def equal_evaluation(draw: Draw) -> tuple[Scenario, ...]:
    """limits_for_evaluation(...): the largest departure may be up or down, and in any channel."""

    def one(name: str, n: int, *targets: tuple[float, float], eps: float = 1e-5) -> Scenario:
        c = len(targets)
        mean, std = draw.numbers(-2, 2, c), draw.numbers(0.8, 2.0, c)
        loc = tuple(m + d * s for (_, d), m, s in zip(targets, mean, std, strict=True))
        scale = tuple(r * s for (r, _), s in zip(targets, std, strict=True))
        x = batch(draw, n, loc, scale)
        return _call(name, "limits_for_evaluation", x, numbers(*mean), numbers(*std), eps)

    return (
        one("a wider batch, to the right", 3, (3.5, 2.5)),
        one("a narrower batch, to the left", 3, (0.15, -2.5)),
        one("a wide and a narrow channel, wide wins", 4, (0.5, 0.4), (4.5, -1.9)),
        one("a wide and a narrow channel, narrow wins", 4, (0.1, 1.9), (1.8, -0.4)),
        one("three channels, a large eps", 5, (1.2, -3.0), (0.4, 0.2), (0.9, 1.1), eps=0.5),
    )


def weight_norm_backward(draw: Draw) -> tuple[Scenario, ...]:
    """wn_backward_steps(grad_out, x, weight_g, weight_v): non-square, g of either sign."""

    def one(n: int, inputs: int, outputs: int, size: float = 1.0) -> Scenario:
        g = Recipe((outputs, 1), values=tuple((-1) ** k * draw.number(0.6, 2.5) for k in range(outputs)))
        v = draw.tensor(outputs, inputs, loc=0.6 * size, scale=size)
        grad, x = draw.tensor(n, outputs, loc=0.4), draw.tensor(n, inputs, loc=0.5, scale=1.5)
        return _call(f"{n} samples, {inputs} inputs, {outputs} outputs", "wn_backward_steps", grad, x, g, v)

    return (one(3, 2, 1), one(2, 3, 2), one(4, 2, 3), one(1, 3, 3), one(3, 4, 2, 0.1))
