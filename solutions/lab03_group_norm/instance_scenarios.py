"""What is asked of InstanceNorm2d: one function for each check, from small scenarios to larger ones.

It is group normalization with one channel per group, so its scenarios are about what is new: no parameters by default, images
only, one pixel, no statistics that are kept.
"""

from __future__ import annotations

from autograder.checks.check import Draw
from autograder.trace.scenario import Backward, Build, Forward, Freeze, Recipe, Reload, Scenario, State, Step
from solutions.lab03_group_norm.drawing import (
    EVAL,
    affine,
    both_ways,
    constant,
    forward,
    instance_norm,
    odd_affine,
    outlier,
    refused,
    torch_state,
    upstream,
    values,
    without_gradients,
)

KEPT = ("parameters", "state_dict keys")  # all that is asked of a layer without affine
WITH = {"affine": True}


def interface(draw: Draw) -> tuple[Scenario, ...]:
    """Constructor, no parameters unless asked for, no buffers, state dictionary."""
    named = {"num_features": 3, "eps": 0.5, "affine": True}
    return (
        Scenario("InstanceNorm2d(3)", (Build("InstanceNorm2d", (3,)), State()), KEPT),
        Scenario("InstanceNorm2d(3, affine=True)", (Build("InstanceNorm2d", (3,), {"affine": True}), State())),
        Scenario("all arguments by keyword", (Build("InstanceNorm2d", (), named, "float64"), State())),
        Scenario(
            "all arguments by position",
            (Build("InstanceNorm2d", (2, 0.5, True), {}, "float64"), forward(draw, 2, 2, 2, 2), State()),
            ("y", *KEPT),
        ),
        Scenario(
            "eps by position", (Build("InstanceNorm2d", (2, 0.5), {}, "float64"), forward(draw, 2, 2, 2, 1)), ("y",)
        ),
        Scenario("a state dictionary of torch.nn", (instance_norm(2, **WITH), torch_state(draw, 2), State())),
        Scenario(
            "kinds and shapes after a call", (instance_norm(2, **WITH), forward(draw, 2, 2, 2, 1), Reload(), State())
        ),
        Scenario("nothing kept after a call", (instance_norm(2), forward(draw, 2, 2, 2, 1), Reload(), State()), KEPT),
        Scenario(
            "in an nn.Sequential with a hook", (instance_norm(2, child=True), forward(draw, 2, 2, 2, 1)), ("forward*",)
        ),
    )


def output(draw: Draw) -> tuple[Scenario, ...]:
    """The output: statistics of each image and channel, in both modes."""
    eps = draw.number(0.3, 0.8)
    return (
        Scenario("one call", (instance_norm(2), forward(draw, 2, 2, 2, 1))),
        Scenario("one image", (instance_norm(3), forward(draw, 1, 3, 2, 2))),
        Scenario("one channel", (instance_norm(1, **WITH), affine(draw, 1), forward(draw, 2, 1, 2, 3))),
        Scenario("one channel of one image", (instance_norm(1), forward(draw, 1, 1, 2, 3))),
        Scenario("images of one row", (instance_norm(2), forward(draw, 2, 2, 1, 3))),
        Scenario("images of one column", (instance_norm(2), forward(draw, 2, 2, 3, 1))),
        Scenario("all sizes equal", (instance_norm(3, **WITH), affine(draw, 3), forward(draw, 3, 3, 3, 3))),
        Scenario("a large eps", (instance_norm(2, eps=eps), forward(draw, 2, 2, 2, 3))),
        Scenario("small numbers", (instance_norm(2), forward(draw, 2, 2, 2, 2, scale=0.01, loc=0.02))),
        Scenario("weight and bias", (instance_norm(3, **WITH), affine(draw, 3), forward(draw, 2, 3, 2, 2))),
        Scenario("a constant image", (instance_norm(2, **WITH), affine(draw, 2), Forward(constant(2, 2, 2, 2)))),
        Scenario("evaluation mode", (instance_norm(2), EVAL, forward(draw, 2, 2, 2, 2))),
        Scenario("one image in evaluation mode", (instance_norm(2), EVAL, forward(draw, 1, 2, 2, 3))),
        Scenario("eps=0, small numbers", (instance_norm(2, eps=0.0), forward(draw, 2, 2, 2, 2, scale=1e-3, loc=0.0))),
        Scenario(
            "evaluation after training on other numbers",
            (instance_norm(2, eps=eps), forward(draw, 3, 2, 2, 2, loc=5.0), EVAL, forward(draw, 2, 2, 2, 3)),
        ),
        Scenario(
            "weights changed in between",
            (
                instance_norm(2, **WITH),
                affine(draw, 2),
                forward(draw, 2, 2, 2, 1),
                affine(draw, 2),
                EVAL,
                forward(draw, 2, 2, 1, 2),
            ),
        ),
        Scenario("everything at once", (instance_norm(4, eps=eps, **WITH), affine(draw, 4), forward(draw, 3, 4, 2, 5))),
        Scenario(
            "weights of 0, biases that add up to 0",
            (instance_norm(4, **WITH), odd_affine(), EVAL, forward(draw, 2, 4, 2, 2)),
        ),
        Scenario("an outlier", (instance_norm(1), Forward(outlier(draw, 1, 1, 5, 6)))),
        Scenario(
            "calls without gradients, weights changed in between",
            (
                instance_norm(2, **WITH),
                EVAL,
                *(without_gradients(draw, 2, 2, 2, 2) for _ in range(2)),
                affine(draw, 2),
                *(without_gradients(draw, 2, 2, 2, 2) for _ in range(2)),
            ),
        ),
    )


def errors(draw: Draw) -> tuple[Scenario, ...]:
    """One pixel, a wrong rank, a wrong number of channels; and no error for one image."""

    def asks(
        name: str, channels: int, *shape: int, before: tuple[Step, ...] = (), gradients: bool = True, **kwargs: object
    ) -> Scenario:
        x: Recipe = draw.tensor(*shape, loc=1.0)
        return Scenario(name, refused(instance_norm(channels, **kwargs), x, *before, grad_enabled=gradients))

    return (
        asks("one pixel", 2, 3, 2, 1, 1),
        asks("one pixel, one image", 2, 1, 2, 1, 1),
        asks("one pixel, evaluation mode", 2, 3, 2, 1, 1, before=(EVAL,)),
        asks("one pixel, affine=True", 2, 3, 2, 1, 1, **WITH),
        asks("(N, C)", 3, 2, 3),
        asks("(N, C), affine=True", 3, 4, 3, **WITH),
        asks("(N, C, D, H, W)", 2, 2, 2, 2, 1, 2),
        asks("one axis", 3, 3),
        asks("six axes", 2, 2, 2, 1, 1, 2, 2),
        asks("five axes, the third of size 1", 2, 2, 2, 1, 2, 2),
        asks("one pixel, many images", 2, 6, 2, 1, 1),
        asks("4 channels where 3 are needed", 3, 2, 4, 2, 2),
        asks("2 channels where 3 are needed, affine=True", 3, 2, 2, 2, 2, **WITH),
        asks("1 channel where 3 are needed", 3, 2, 1, 2, 2),  # with affine it would broadcast
        asks("1 channel where 3 are needed, affine=True", 3, 2, 1, 2, 2, **WITH),
        asks("3 channels where 1 is needed, affine=True", 1, 2, 3, 2, 2, **WITH),
        asks("channels last", 3, 2, 4, 2, 3),
        asks("one pixel, without gradients", 2, 3, 2, 1, 1, before=(EVAL,), gradients=False),
        asks("1 channel where 3 are needed, without gradients", 3, 2, 1, 2, 2, gradients=False, **WITH),
        asks("one image of two pixels", 2, 1, 2, 2, 1),
        asks("one image of one row", 2, 1, 2, 1, 2),
    )


def gradients(draw: Draw) -> tuple[Scenario, ...]:
    """Through autograd, with any of x, weight and bias frozen."""
    eps = draw.number(0.3, 0.8)
    start = (instance_norm(2, eps=eps, **WITH), affine(draw, 2))
    frozen = [
        ("x", (), False),
        ("weight", ("weight",), True),
        ("bias", ("bias",), True),
        ("weight and bias", ("weight", "bias"), True),
        ("x and weight", ("weight",), False),
        ("x and bias", ("bias",), False),
    ]
    return (
        Scenario("a fresh layer", (instance_norm(2), both_ways(draw, 2, 2, 2, 2))),
        Scenario("weight and bias", (*start, both_ways(draw, 2, 2, 2, 3))),
        Scenario("one image", (*start, both_ways(draw, 1, 2, 3, 2))),
        Scenario("evaluation mode", (*start, EVAL, both_ways(draw, 3, 2, 2, 2))),
        *(
            Scenario(f"{who} frozen", (*start, Freeze(names), both_ways(draw, 2, 2, 2, 2, x_requires_grad=x)))
            for who, names, x in frozen
        ),
        Scenario("two steps", (*start, both_ways(draw, 2, 2, 2, 2), both_ways(draw, 3, 2, 1, 3))),
        Scenario("a constant image", (*start, Forward(constant(2, 2, 2, 2), upstream(draw, 2, 2, 2, 2)))),
        Scenario(
            "a constant image, default eps",
            (instance_norm(2), Forward(constant(2, 2, 2, 2), upstream(draw, 2, 2, 2, 2))),
        ),
        Scenario("small numbers", (instance_norm(2), both_ways(draw, 2, 2, 2, 2, scale=0.02, loc=0.0))),
        Scenario("x frozen, evaluation mode", (*start, EVAL, both_ways(draw, 2, 2, 2, 2, x_requires_grad=False))),
        Scenario(
            "another call between forward and backward",
            (
                *start,
                Forward(values(draw, 2, 2, 2, 2), later=True),
                forward(draw, 2, 2, 2, 2),
                Backward(upstream(draw, 2, 2, 2, 2)),
            ),
        ),
        Scenario(
            "a large gradient arrives",
            (*start, Forward(values(draw, 2, 2, 2, 2), draw.tensor(2, 2, 2, 2, loc=50.0, scale=300.0))),
        ),
    )


def numerics(draw: Draw) -> tuple[Scenario, ...]:
    """float32, memory layouts, a mean of 100 standard deviations; x must stay as it was."""
    single = {"dtype": "float32"}
    return (
        Scenario("float32", (instance_norm(2, None, **WITH), both_ways(draw, 2, 2, 2, 2, **single), State())),
        Scenario("float32, affine=False", (instance_norm(2, None), both_ways(draw, 2, 2, 2, 2, **single))),
        Scenario("float64", (instance_norm(2), both_ways(draw, 2, 2, 2, 2))),
        *(
            Scenario(
                f"{layout} input",
                (instance_norm(3, **WITH), affine(draw, 3), both_ways(draw, 2, 3, 2, 4, layout=layout)),
            )
            for layout in ("transposed", "strided", "channels_last")
        ),
        Scenario(
            "a mean of 100 standard deviations",
            (instance_norm(3, None), both_ways(draw, 2, 3, 4, 4, loc=100.0, scale=1.0, **single)),
        ),
        Scenario(
            "a mean of 100 standard deviations, weight and bias, evaluation mode",
            (instance_norm(3, None, **WITH), EVAL, both_ways(draw, 2, 3, 4, 4, loc=100.0, scale=1.0, **single)),
        ),
        Scenario(
            "large numbers", (instance_norm(2, None), both_ways(draw, 2, 2, 2, 3, loc=0.0, scale=3000.0, **single))
        ),
        # A call without gradients before the copy: what a layer keeps for itself may then be copied, too.
        Scenario(
            "a deep copy after a call",
            (
                instance_norm(2),
                Forward(values(draw, 2, 2, 2, 2), grad_enabled=False),
                Reload(copy=True),
                both_ways(draw, 3, 2, 1, 3),
            ),
        ),
        Scenario("x without gradients", (instance_norm(2), without_gradients(draw, 2, 2, 2, 2))),
        Scenario(
            "x without gradients, weight and bias, one image",
            (instance_norm(2, **WITH), affine(draw, 2), without_gradients(draw, 1, 2, 2, 3)),
        ),
        Scenario(
            "x without gradients, channels_last, evaluation mode",
            (instance_norm(3), EVAL, without_gradients(draw, 2, 3, 2, 2, layout="channels_last")),
        ),
        Scenario(
            "a mean of 100 standard deviations, without gradients",
            (instance_norm(3, None), without_gradients(draw, 2, 3, 4, 4, loc=100.0, scale=1.0, **single)),
        ),
    )
