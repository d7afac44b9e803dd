"""What is asked of GroupNorm: one function for each check.

Each returns scenarios from the smallest to the larger, so that the first that fails is the easiest to read. Group counts of 1 and
C hide mistakes, so most scenarios have something between, and never as many groups as channels in a group.
"""

from __future__ import annotations

from autograder.checks.check import Draw
from autograder.trace.scenario import Backward, Build, Forward, Freeze, Reload, Scenario, State, Twin
from solutions.lab03_group_norm.drawing import (
    EVAL,
    TRAIN,
    affine,
    both_ways,
    constant,
    forward,
    group_norm,
    odd_affine,
    outlier,
    refused,
    torch_state,
    upstream,
    values,
    without_gradients,
)

KEPT = ("parameters", "state_dict keys")  # all that is asked of a layer with affine=False


def interface(draw: Draw) -> tuple[Scenario, ...]:
    """Constructor, parameters, state dictionary; called as a child, so that hooks must fire."""
    named = {"num_groups": 3, "num_channels": 6, "eps": 0.5, "affine": True}
    return (
        Scenario("GroupNorm(2, 6)", (Build("GroupNorm", (2, 6)), State())),
        Scenario("GroupNorm(1, 1)", (Build("GroupNorm", (1, 1)), State())),
        Scenario("all arguments by keyword", (Build("GroupNorm", (), named, "float64"), State())),
        Scenario("a state dictionary of torch.nn", (group_norm(2, 4), torch_state(draw, 4), State())),
        Scenario("kinds and shapes after a call", (group_norm(2, 4), forward(draw, 3, 4, 2), Reload(), State())),
        Scenario("moved to float64", (group_norm(3, 3), State())),
        Scenario(
            "in an nn.Sequential with a hook",
            (group_norm(2, 4, child=True), EVAL, forward(draw, 2, 4, 3)),
            ("forward*",),
        ),
    )


def output(draw: Draw) -> tuple[Scenario, ...]:
    """The output for (N, C, L): which values share a mean, the formula, weight and bias per channel."""
    eps = draw.number(0.3, 0.8)
    return (
        Scenario("one call", (group_norm(2, 4), forward(draw, 2, 4, 3))),
        Scenario("a fresh layer in evaluation mode", (group_norm(2, 4), EVAL, forward(draw, 2, 4, 3))),
        Scenario(
            "two calls in evaluation mode", (group_norm(2, 4), EVAL, forward(draw, 2, 4, 3), forward(draw, 2, 4, 3))
        ),
        Scenario("training, then evaluation", (group_norm(2, 4), forward(draw, 2, 4, 3), EVAL, forward(draw, 2, 4, 3))),
        Scenario("two values per group", (group_norm(2, 2), forward(draw, 3, 2, 2))),  # n / (n - 1) is 2 here
        Scenario("three groups of two channels", (group_norm(3, 6), forward(draw, 2, 6, 2))),
        Scenario("two groups of three channels", (group_norm(2, 6), forward(draw, 3, 6, 2))),
        Scenario("one group", (group_norm(1, 3), forward(draw, 2, 3, 4))),
        Scenario("as many groups as channels", (group_norm(3, 3), forward(draw, 2, 3, 4))),
        Scenario("one channel", (group_norm(1, 1), affine(draw, 1), forward(draw, 3, 1, 4))),
        Scenario("one sample", (group_norm(2, 4), forward(draw, 1, 4, 2))),
        Scenario("a large eps", (group_norm(2, 4, eps=eps), forward(draw, 2, 4, 3))),
        Scenario("small numbers", (group_norm(2, 4), forward(draw, 2, 4, 3, scale=0.01, loc=0.02))),
        Scenario("weight and bias", (group_norm(2, 4), affine(draw, 4), forward(draw, 2, 4, 3))),
        Scenario("weight and bias, one group", (group_norm(1, 3), affine(draw, 3), forward(draw, 2, 3, 2))),
        Scenario("as many positions as channels", (group_norm(2, 4), affine(draw, 4), forward(draw, 3, 4, 4))),
        Scenario("a constant input", (group_norm(2, 4), affine(draw, 4), Forward(constant(2, 4, 3)))),
        Scenario(
            "weight and bias frozen",
            (group_norm(2, 4), affine(draw, 4), Freeze(("weight", "bias")), forward(draw, 2, 4, 3)),
        ),
        Scenario(
            "called twice, other sizes between",
            (
                group_norm(2, 4, eps=eps),
                Forward(values(draw, 2, 4, 3)),
                forward(draw, 3, 4, 5),
                EVAL,
                forward(draw, 2, 4, 3),
                TRAIN,
                forward(draw, 1, 4, 3),
            ),
        ),
        Scenario(  # nothing is remembered, nothing worked out once and for all
            "evaluation after training on other numbers, with other weights",
            (
                group_norm(2, 4, child=True),
                affine(draw, 4),
                forward(draw, 3, 4, 2, loc=5.0),
                affine(draw, 4),
                EVAL,
                forward(draw, 2, 4, 3),
            ),
        ),
        Scenario(
            "beside another layer",
            (group_norm(2, 4, eps=eps), affine(draw, 4), Twin(values(draw, 2, 4, 3)), forward(draw, 2, 4, 3)),
        ),
        Scenario("everything at once", (group_norm(2, 6, eps=eps), affine(draw, 6), forward(draw, 4, 6, 3))),
        Scenario(
            "weights of 0, biases that add up to 0", (group_norm(2, 4), odd_affine(), EVAL, forward(draw, 2, 4, 3))
        ),
        Scenario("all weights 0", (group_norm(2, 4), odd_affine(weight=(0.0,) * 4), forward(draw, 2, 4, 3))),
        Scenario("an outlier", (group_norm(1, 4), Forward(outlier(draw, 1, 4, 8)))),
        Scenario(  # nothing is worked out once, and nothing handed out twice
            "calls without gradients, weights changed in between",
            (
                group_norm(2, 4),
                EVAL,
                *(without_gradients(draw, 2, 4, 3) for _ in range(2)),
                affine(draw, 4),
                *(without_gradients(draw, 2, 4, 3) for _ in range(2)),
            ),
        ),
    )


def shapes(draw: Draw) -> tuple[Scenario, ...]:
    """Input (N, C, *) of any rank from 2 up, and the same layer for all of them."""
    eps = draw.number(0.3, 0.8)
    return (
        Scenario("(N, C), two values per group", (group_norm(2, 4, eps=eps), forward(draw, 3, 4))),
        Scenario("(N, C), three values per group", (group_norm(2, 6), affine(draw, 6), forward(draw, 2, 6))),
        Scenario("(N, C), one value per group", (group_norm(3, 3), affine(draw, 3), forward(draw, 2, 3))),
        Scenario("(N, C, L), one position", (group_norm(2, 4), affine(draw, 4), forward(draw, 2, 4, 1))),
        Scenario("(N, C, H, W)", (group_norm(2, 4), forward(draw, 2, 4, 2, 3))),
        Scenario("(N, C, H, W), weight and bias", (group_norm(2, 4), affine(draw, 4), forward(draw, 2, 4, 3, 2))),
        Scenario(
            "(N, C, H, W), all sizes equal", (group_norm(2, 4, eps=eps), affine(draw, 4), forward(draw, 4, 4, 4, 4))
        ),
        Scenario("(N, C, H, W), one row", (group_norm(3, 6), affine(draw, 6), forward(draw, 2, 6, 1, 3))),
        Scenario("(N, C, H, W), one pixel", (group_norm(3, 6), affine(draw, 6), forward(draw, 2, 6, 1, 1))),
        Scenario(
            "(N, C, H, W), as many groups as channels", (group_norm(3, 3), affine(draw, 3), forward(draw, 2, 3, 2, 2))
        ),
        Scenario("(N, C, D, H, W)", (group_norm(2, 4), affine(draw, 4), forward(draw, 2, 4, 2, 1, 3))),
        Scenario("six axes", (group_norm(2, 4), affine(draw, 4), forward(draw, 2, 4, 1, 2, 2, 1))),
        Scenario(
            "(N, C), then (N, C, L), then (N, C, H, W)",
            (
                group_norm(2, 4, eps=eps),
                affine(draw, 4),
                forward(draw, 3, 4),
                forward(draw, 2, 4, 3),
                forward(draw, 2, 4, 2, 2),
            ),
        ),
    )


def options(draw: Draw) -> tuple[Scenario, ...]:
    """eps and affine, by position and by keyword."""
    bare = {"affine": False}
    return (
        Scenario("affine=False", (group_norm(2, 4, **bare), State()), KEPT),
        Scenario("affine=False, a call", (group_norm(2, 4, **bare), both_ways(draw, 2, 4, 3)), ("y", "x.grad")),
        Scenario("affine=False, (N, C)", (group_norm(2, 6, **bare), both_ways(draw, 3, 6)), ("y", "x.grad")),
        Scenario(
            "affine=False, float32", (group_norm(2, 4, None, **bare), forward(draw, 2, 4, 3, dtype="float32")), ("y",)
        ),
        Scenario("affine=False, one value per group", (group_norm(3, 3, **bare), forward(draw, 2, 3)), ("y",)),
        Scenario(
            "affine=False, moved to float64 and back, a fresh copy",
            (group_norm(2, 4, **bare), forward(draw, 2, 4, 2), Reload(), forward(draw, 2, 4, 2)),
            ("y",),
        ),
        # A number in the wrong place shows in the output.
        Scenario(
            "arguments by position",
            (Build("GroupNorm", (2, 4, 0.5, False), {}, "float64"), both_ways(draw, 2, 4, 3), State()),
            ("y", "x.grad", *KEPT),
        ),
        Scenario("eps by position", (Build("GroupNorm", (2, 4, 0.5), {}, "float64"), forward(draw, 2, 4, 3))),
        Scenario(
            "eps and affine by keyword", (group_norm(2, 4, eps=0.4, affine=True), both_ways(draw, 2, 4, 3), State())
        ),
        Scenario("eps=0, small numbers", (group_norm(2, 4, eps=0.0), forward(draw, 2, 4, 3, scale=1e-3, loc=0.0))),
        Scenario("a tiny eps", (group_norm(2, 4, eps=1e-12), forward(draw, 2, 4, 3, scale=1e-3, loc=0.0))),
    )


def errors(draw: Draw) -> tuple[Scenario, ...]:
    """An error where one is due, and none where a number only looks too small."""

    def asks(name: str, groups: int, channels: int, *shape: int, gradients: bool = True, **kwargs: object) -> Scenario:
        given = group_norm(groups, channels, **kwargs)
        return Scenario(name, refused(given, draw.tensor(*shape, loc=1.0), grad_enabled=gradients))

    return (
        # Space of a size for which a reshape into the groups runs without complaint.
        asks("6 channels in 4 groups", 4, 6, 2, 6, 4),
        asks("6 channels in 4 groups, images", 4, 6, 2, 6, 2, 2),
        asks("6 channels in 4 groups, (N, C)", 4, 6, 2, 6),
        asks("2 channels in 4 groups", 4, 2, 3, 2, 2),
        asks("4 channels in 3 groups, affine=False", 3, 4, 2, 4, 3, affine=False),
        asks("6 channels where 4 are needed", 2, 4, 3, 6, 2),
        asks("2 channels where 4 are needed", 2, 4, 3, 2, 2),
        asks("6 channels where 4 are needed, (N, C)", 2, 4, 3, 6),
        asks("(N, L, C) in place of (N, C, L)", 2, 4, 3, 6, 4),
        asks("x of one axis", 1, 4, 4),
        asks("x without axes", 1, 1),
        asks("8 channels where 4 are needed", 2, 4, 3, 8, 2),
        asks("2 channels where 4 are needed, without gradients", 2, 4, 3, 2, 2, gradients=False),
        asks("6 channels in 4 groups, without gradients", 4, 6, 2, 6, 4, gradients=False),
        asks("6 channels in 6 groups", 6, 6, 1, 6, 2),
        asks("6 channels in 1 group, one sample", 1, 6, 1, 6),
        asks("one value per group", 4, 4, 2, 4),
    )


def gradients(draw: Draw) -> tuple[Scenario, ...]:
    """Through autograd, with any of x, weight and bias frozen, for several ranks."""
    eps = draw.number(0.3, 0.8)
    start = (group_norm(2, 4, eps=eps), affine(draw, 4))
    frozen = [
        ("x", (), False),
        ("weight", ("weight",), True),
        ("bias", ("bias",), True),
        ("weight and bias", ("weight", "bias"), True),
        ("x and weight", ("weight",), False),
        ("x and bias", ("bias",), False),
    ]
    return (
        Scenario("a fresh layer", (group_norm(2, 4), both_ways(draw, 2, 4, 2))),
        Scenario("weight and bias", (*start, both_ways(draw, 2, 4, 2))),
        Scenario("three groups", (group_norm(3, 6, eps=eps), affine(draw, 6), both_ways(draw, 2, 6, 2))),
        Scenario("one group", (group_norm(1, 3, eps=eps), affine(draw, 3), both_ways(draw, 2, 3, 2))),
        Scenario("as many groups as channels", (group_norm(3, 3, eps=eps), affine(draw, 3), both_ways(draw, 2, 3, 3))),
        Scenario("(N, C)", (*start, both_ways(draw, 3, 4))),
        Scenario("images", (*start, both_ways(draw, 3, 4, 2, 3))),
        Scenario("evaluation mode", (*start, EVAL, both_ways(draw, 3, 4, 2))),
        *(
            Scenario(f"{who} frozen", (*start, Freeze(names), both_ways(draw, 2, 4, 3, x_requires_grad=x)))
            for who, names, x in frozen
        ),
        Scenario("two steps", (*start, both_ways(draw, 2, 4, 2), both_ways(draw, 3, 4, 3))),
        Scenario("one value per group", (group_norm(3, 3, eps=0.5), affine(draw, 3), both_ways(draw, 2, 3))),
        Scenario(
            "a constant input",
            (group_norm(2, 4, eps=0.5), affine(draw, 4), Forward(constant(2, 4, 2), upstream(draw, 2, 4, 2))),
        ),
        # The root of a variance of 0 has no slope; eps under the root gives it one.
        Scenario(
            "a constant input, default eps",
            (group_norm(2, 4), affine(draw, 4), Forward(constant(2, 4, 2), upstream(draw, 2, 4, 2))),
        ),
        Scenario("small numbers", (group_norm(2, 4), affine(draw, 4), both_ways(draw, 2, 4, 3, scale=0.02, loc=0.0))),
        Scenario("x frozen, evaluation mode", (*start, EVAL, both_ways(draw, 2, 4, 3, x_requires_grad=False))),
        Scenario(
            "another call between forward and backward",
            (
                *start,
                Forward(values(draw, 2, 4, 3), later=True),
                forward(draw, 2, 4, 3),
                Backward(upstream(draw, 2, 4, 3)),
            ),
        ),
        Scenario(
            "a large gradient arrives",
            (*start, Forward(values(draw, 2, 4, 2), draw.tensor(2, 4, 2, loc=50.0, scale=300.0))),
        ),
    )


def numerics(draw: Draw) -> tuple[Scenario, ...]:
    """float32, memory layouts, a mean of 100 standard deviations, copies; x must stay as it was."""
    single = {"dtype": "float32"}
    return (
        Scenario("float32", (group_norm(2, 4, None), both_ways(draw, 2, 4, 3, **single), State())),
        Scenario("float32, (N, C)", (group_norm(2, 6, None), both_ways(draw, 3, 6, **single))),
        Scenario("float64", (group_norm(2, 4), both_ways(draw, 2, 4, 3), State())),
        *(
            Scenario(
                f"{layout} input {shape}", (group_norm(2, 4), affine(draw, 4), both_ways(draw, *shape, layout=layout))
            )
            for layout, shape in (
                ("transposed", (3, 4)),
                ("strided", (2, 4, 3)),
                ("channels_last", (2, 4, 3)),
                ("transposed", (2, 4, 2, 3)),
                ("channels_last", (3, 4, 2, 2)),
                ("strided", (2, 4, 3, 2)),
            )
        ),
        Scenario(
            "a mean of 100 standard deviations",
            (group_norm(2, 6, None), both_ways(draw, 4, 6, 5, loc=100.0, scale=1.0, **single)),
        ),
        Scenario(
            "a mean of 100 standard deviations, images in evaluation mode",
            (group_norm(2, 6, None), EVAL, both_ways(draw, 3, 6, 2, 3, loc=100.0, scale=1.0, **single)),
        ),
        Scenario(
            "a mean of 100 standard deviations, affine=False",
            (group_norm(2, 6, None, affine=False), both_ways(draw, 3, 6, 5, loc=100.0, scale=1.0, **single)),
        ),
        Scenario("large numbers", (group_norm(2, 4, None), both_ways(draw, 2, 4, 3, loc=0.0, scale=3000.0, **single))),
        # A call without gradients before the copy: what a layer keeps for itself may then be copied, too.
        Scenario(
            "a deep copy after a call",
            (
                group_norm(2, 4),
                Forward(values(draw, 2, 4, 2), grad_enabled=False),
                Reload(copy=True),
                both_ways(draw, 3, 4, 2),
            ),
        ),
        Scenario("x without gradients", (group_norm(2, 4), without_gradients(draw, 2, 4, 3))),
        Scenario(
            "x without gradients, images",
            (group_norm(2, 4), affine(draw, 4), EVAL, without_gradients(draw, 2, 4, 2, 3)),
        ),
        Scenario(
            "x without gradients, no weight, (N, C)", (group_norm(2, 4, affine=False), without_gradients(draw, 3, 4))
        ),
        Scenario(
            "a mean of 100 standard deviations, without gradients",
            (group_norm(2, 6, None), without_gradients(draw, 4, 6, 5, loc=100.0, scale=1.0, **single)),
        ),
    )
