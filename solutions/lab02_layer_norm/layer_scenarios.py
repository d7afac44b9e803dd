"""What is asked of LayerNorm: one function for each check.

Each returns scenarios from the smallest to the larger, so that the first that fails is the easiest to read. The comments say which
mistakes a scenario is there for.
"""

from __future__ import annotations

from autograder.checks.check import Draw
from autograder.trace.scenario import (
    Backward,
    Build,
    Forward,
    Freeze,
    Load,
    Recipe,
    Reload,
    Scenario,
    Sizes,
    State,
    Step,
    Twin,
)
from solutions.lab02_layer_norm.inputs import (
    EVAL,
    TRAIN,
    Shape,
    affine,
    build,
    call,
    constant,
    outlier,
    rows,
    saved,
    step,
    twice_without_gradients,
    upstream,
)

TARGET = "LayerNorm"
BARE = {"elementwise_affine": False}


def interface(draw: Draw) -> tuple[Scenario, ...]:
    """Constructor, parameters, state dictionary; called as a child, so that hooks must fire."""
    fresh = tuple(Scenario(f"LayerNorm({given})", (Build(TARGET, (given,)), State())) for given in (3, 1, (2, 3), (4,)))
    words = {"normalized_shape": 3, "eps": 0.5, "elementwise_affine": True}
    return (
        *fresh,
        Scenario("all arguments by keyword", (Build(TARGET, (), words, "float64"), State())),
        Scenario("moved to float64", (build(TARGET, 3), State())),
        Scenario("a state dictionary of torch.nn", (build(TARGET, 3), saved(draw, 3), State())),
        Scenario("one of torch.nn, two axes", (build(TARGET, (2, 3)), saved(draw, 2, 3), State())),
        Scenario("kinds and shapes after a call", (build(TARGET, 3), call(draw, (2, 3)), Reload(), State())),
        Scenario("in an nn.Sequential with a hook", (build(TARGET, 3, child=True), call(draw, (2, 3)))),
    )


def output(draw: Draw) -> tuple[Scenario, ...]:
    """The output over one last axis, for inputs of several ranks."""
    eps = draw.number(0.3, 0.8)
    return (
        Scenario("one call", (build(TARGET, 4), call(draw, (3, 4)))),
        Scenario("two features", (build(TARGET, 2), call(draw, (3, 2)))),  # d / (d - 1) is 2 here
        Scenario("a large eps", (build(TARGET, 3, eps=eps), call(draw, (2, 3)))),
        Scenario("small numbers", (build(TARGET, 3), call(draw, (2, 3), scale=0.01, loc=0.02))),
        Scenario("weight and bias", (build(TARGET, 3), affine(draw, 3), call(draw, (2, 3)))),
        Scenario("as many samples as features", (build(TARGET, 3), affine(draw, 3), call(draw, (3, 3)))),
        Scenario("tokens (N, T, D)", (build(TARGET, 3, eps=eps), affine(draw, 3), call(draw, (2, 4, 3)))),
        Scenario("as many tokens as features", (build(TARGET, 3), affine(draw, 3), call(draw, (2, 3, 3)))),
        Scenario("all sizes equal", (build(TARGET, 3), affine(draw, 3), call(draw, (3, 3, 3)))),
        Scenario("four axes", (build(TARGET, 3), affine(draw, 3), call(draw, (2, 2, 2, 3)))),
        Scenario("five axes", (build(TARGET, 3, eps=eps), affine(draw, 3), call(draw, (2, 1, 2, 1, 3)))),
        Scenario("a single row (D,)", (build(TARGET, 4), affine(draw, 4), call(draw, (4,)))),
        Scenario("a constant row", (build(TARGET, 3), affine(draw, 3), Forward(constant(2, 3)))),
        Scenario("one value in a set", (build(TARGET, 1), affine(draw, 1), call(draw, (3, 1)))),
        Scenario(
            "weight and bias frozen",
            (build(TARGET, 3), affine(draw, 3), Freeze(("weight", "bias")), call(draw, (2, 3))),
        ),
        Scenario("without gradients", (build(TARGET, 3, eps=eps), Forward(rows(draw, (2, 3)), grad_enabled=False))),
        Scenario("weights changed in between", (build(TARGET, 3), *_twice(draw))),  # nothing is worked out for good
        Scenario("six axes", (build(TARGET, 3), affine(draw, 3), call(draw, (2, 1, 2, 1, 2, 3)))),
        Scenario(
            "a weight of 0, biases that add up to 0",
            (build(TARGET, 3), Load(ODD, fill=True), Freeze(("bias",)), call(draw, (2, 3))),
        ),
        Scenario("weights of 0", (build(TARGET, 3), Load({**ODD, "weight": ZEROS}, fill=True), call(draw, (2, 3)))),
        Scenario("an outlier", (build(TARGET, 27), Forward(outlier(draw, 27)))),
    )


ZEROS = Recipe((3,), values=(0.0, 0.0, 0.0))
ODD = {"weight": Recipe((3,), values=(0.0, 1.5, -2.0)), "bias": Recipe((3,), values=(1.0, -3.0, 2.0))}


def _twice(draw: Draw) -> tuple[Step, ...]:
    return tuple(part for n in (2, 4) for part in (affine(draw, 3), call(draw, (n, 3))))


def shapes(draw: Draw) -> tuple[Scenario, ...]:
    """normalized_shape as an int, a list, a tuple, a torch.Size, over one, two and three axes of one and the same input."""
    eps = draw.number(0.3, 0.8)
    x = rows(draw, (2, 2, 3, 4))

    def asked(name: str, given: object, shape: Shape, x_shape: Shape | None = None, **kwargs: object) -> Scenario:
        forward = Forward(x) if x_shape is None else call(draw, x_shape)
        return Scenario(name, (build(TARGET, given, **kwargs), affine(draw, *shape), forward, State()))

    return (
        asked("a tuple of one", (3,), (3,), (2, 3)),
        asked("a list of one", Sizes("list", (3,)), (3,), (2, 3)),
        asked("a torch.Size of one", Sizes("Size", (3,)), (3,), (2, 3)),
        asked("a tuple of two", (2, 3), (2, 3), (3, 2, 3)),
        asked("a list of two", Sizes("list", (2, 3)), (2, 3), (2, 2, 3)),
        asked("a torch.Size of two", Sizes("Size", (3, 2)), (3, 2), (2, 3, 2)),
        asked("as tall as wide", (2, 2), (2, 2), (3, 2, 2)),
        asked("two axes of ones and more", (1, 3), (1, 3), (2, 1, 3)),
        asked("LayerNorm(4) on (2, 2, 3, 4)", 4, (4,)),
        asked("LayerNorm((3, 4)) on (2, 2, 3, 4)", (3, 4), (3, 4), eps=eps),
        asked("LayerNorm((2, 3, 4)) on (2, 2, 3, 4)", (2, 3, 4), (2, 3, 4), eps=eps),
        asked("no axis left over", (2, 3), (2, 3), (2, 3)),
        asked("two axes in front", (2, 3), (2, 3), (2, 3, 2, 3), eps=eps),
        Scenario("two axes, fresh", (build(TARGET, (3, 2)), call(draw, (2, 3, 2)))),
    )


def modes(draw: Draw) -> tuple[Scenario, ...]:
    """Training and evaluation are the same thing, and nothing is remembered."""
    eps = draw.number(0.3, 0.8)
    return (
        Scenario("evaluation", (build(TARGET, 3, eps=eps), affine(draw, 3), EVAL, call(draw, (2, 3)))),
        Scenario("one sample, evaluation", (build(TARGET, 3), EVAL, call(draw, (1, 3)))),
        Scenario("one sample, training", (build(TARGET, 3), TRAIN, call(draw, (1, 3)))),
        Scenario("evaluation without gradients", (build(TARGET, 3), EVAL, Forward(rows(draw, (2, 3)), None, False))),
        Scenario("two calls in evaluation", (build(TARGET, 3), EVAL, call(draw, (2, 3)), call(draw, (2, 3)))),
        Scenario(  # nothing is worked out once, and nothing handed out twice
            "two calls without gradients, weights changed in between",
            (
                build(TARGET, 3),
                EVAL,
                *twice_without_gradients(draw, (2, 3)),
                affine(draw, 3),
                *twice_without_gradients(draw, (2, 3)),
            ),
        ),
        Scenario(
            "one rank and then another",
            (build(TARGET, 3), call(draw, (2, 3)), call(draw, (2, 4, 3)), call(draw, (3, 3))),
        ),
        Scenario("evaluation after training", (build(TARGET, 3), call(draw, (4, 3)), EVAL, call(draw, (2, 3)))),
        Scenario(
            "training after evaluation",
            (build(TARGET, 3, child=True), EVAL, call(draw, (2, 3)), TRAIN, call(draw, (3, 3))),
        ),
        Scenario(
            "two calls of other lengths",
            (build(TARGET, 3), call(draw, (2, 4, 3)), EVAL, call(draw, (1, 5, 3)), State()),
        ),
        Scenario(  # whatever is kept is the layer's own
            "beside another layer",
            (build(TARGET, 3, eps=eps), affine(draw, 3), Twin(rows(draw, (4, 3))), call(draw, (2, 3)), State()),
        ),
    )


def options(draw: Draw) -> tuple[Scenario, ...]:
    """elementwise_affine, and arguments by position."""
    return (
        Scenario("elementwise_affine=False", (build(TARGET, 3, **BARE), State())),
        Scenario("elementwise_affine=False, called", (build(TARGET, 3, **BARE), step(draw, (2, 3)), State())),
        Scenario("elementwise_affine=False, two axes", (build(TARGET, (2, 3), **BARE), step(draw, (2, 2, 3)))),
        Scenario("elementwise_affine=False, evaluation", (build(TARGET, 3, **BARE), EVAL, step(draw, (2, 4, 3)))),
        Scenario("elementwise_affine=False, saved and loaded", (build(TARGET, 3, **BARE), Reload(), State())),
        Scenario("arguments by position", (Build(TARGET, (3, 0.5, False), {}, "float64"), step(draw, (2, 3)), State())),
        Scenario("eps by position", (Build(TARGET, (3, 0.5), {}, "float64"), call(draw, (2, 3)), State())),
        Scenario("both by keyword", (build(TARGET, 3, elementwise_affine=False, eps=0.5), call(draw, (2, 3)), State())),
        Scenario("eps=0, small numbers", (build(TARGET, 3, eps=0.0), Forward(rows(draw, (2, 3), loc=0.0, scale=1e-3)))),
    )


def errors(draw: Draw) -> tuple[Scenario, ...]:
    """ValueError for a trailing shape that differs, and none for one that only looks unusual."""

    def tried(given: object, shape: Shape, *before: Step, gradients: bool = True, **kwargs: object) -> Scenario:
        words = "".join(f", {key}={value}" for key, value in kwargs.items()) + (", evaluation" if before else "")
        forward = Forward(draw.tensor(*shape, loc=1.0), grad_enabled=gradients)
        words += "" if gradients else ", without gradients"
        return Scenario(f"LayerNorm({given}) on {shape}{words}", (build(TARGET, given, **kwargs), *before, forward))

    return (
        tried(3, (2, 4)),
        tried(3, (2, 2)),
        tried(3, (2, 1)),  # would broadcast against weight
        tried(1, (2, 3)),  # would broadcast, too
        tried(2, (3, 2, 1)),
        tried(3, (3, 4)),  # the axis of that size is the first one
        tried(3, (2, 3, 4)),  # or one in the middle
        tried((2, 3), (4, 3)),
        tried((2, 3), (3,)),  # too few axes
        tried((2, 3), (2, 3, 2)),
        tried((2, 3), (2, 6)),  # as many values
        tried((2, 3), (4, 3, 3)),
        tried((2, 3), (4, 1, 3)),
        tried((2, 3), (4, 2, 1)),
        tried((1, 3), (4, 2, 3)),
        tried((2, 3), (2, 4)),
        tried((4, 2, 3), (2, 4, 3, 2)),
        tried(3, (2, 4), EVAL),
        tried(3, (2, 1), EVAL),
        tried(3, (2, 4), **BARE),
        tried(1, (2, 3), **BARE),
        tried(3, (2, 1), **BARE),
        tried((2, 3), (4, 1, 3), **BARE),
        tried((2, 3), (4, 3, 2), EVAL, **BARE),
        tried((2, 3), (3,), **BARE),
        tried(3, ()),
        tried(3, (2, 1), gradients=False),
        tried((2, 3), (4, 3, 2), EVAL, gradients=False),
        # What is fine must stay fine.
        tried(3, (3,)),
        tried((2, 3), (2, 3)),
        tried(2, (1, 2)),
        tried(3, (1, 1, 1, 3)),
    )


def gradients(draw: Draw) -> tuple[Scenario, ...]:
    """Through autograd, with any of x, weight and bias frozen."""
    eps = draw.number(0.3, 0.8)
    start = (build(TARGET, 3, eps=eps), affine(draw, 3))
    frozen = [
        ("x", (), False),
        ("weight", ("weight",), True),
        ("bias", ("bias",), True),
        ("weight and bias", ("weight", "bias"), True),
        ("x and weight", ("weight",), False),
        ("x and bias", ("bias",), False),
    ]
    return (
        Scenario("one step", (build(TARGET, 3), step(draw, (2, 3)))),
        Scenario("weight and bias", (*start, step(draw, (4, 3)))),
        Scenario("two features", (build(TARGET, 2), affine(draw, 2), step(draw, (3, 2)))),
        Scenario("evaluation", (*start, EVAL, step(draw, (2, 3)))),
        *(
            Scenario(f"{who} frozen", (*start, Freeze(names), step(draw, (2, 3), x_requires_grad=x)))
            for who, names, x in frozen
        ),
        Scenario("x frozen, evaluation", (*start, EVAL, step(draw, (2, 3), x_requires_grad=False))),
        Scenario("two steps", (*start, step(draw, (2, 3)), step(draw, (4, 3)))),
        Scenario("elementwise_affine=False", (build(TARGET, 3, eps=eps, **BARE), step(draw, (2, 3)))),
        Scenario("tokens", (*start, step(draw, (2, 4, 3)))),
        Scenario("two axes", (build(TARGET, (2, 3), eps=eps), affine(draw, 2, 3), step(draw, (3, 2, 3)))),
        Scenario("a single row", (*start, step(draw, (3,)))),
        Scenario(
            "another call between forward and backward",
            (
                *start,
                Forward(rows(draw, (2, 3)), later=True),
                Forward(rows(draw, (4, 3)), grad_enabled=False),
                Backward(upstream(draw, (2, 3))),
            ),
        ),
        Scenario(
            "another call of the same shape between them",
            (*start, Forward(rows(draw, (2, 3)), later=True), call(draw, (2, 3)), Backward(upstream(draw, (2, 3)))),
        ),
        Scenario(
            "a large gradient arrives", (*start, Forward(rows(draw, (2, 3)), draw.tensor(2, 3, loc=50.0, scale=300.0)))
        ),
        Scenario("a constant row", (*start, Forward(constant(2, 3), upstream(draw, (2, 3))))),
        # The root of a variance of 0 has no slope; only eps keeps the gradient finite.
        Scenario("a constant row, default eps", (build(TARGET, 3), Forward(constant(1, 3), upstream(draw, (1, 3))))),
        Scenario("small numbers", (build(TARGET, 3), affine(draw, 3), step(draw, (2, 3), scale=0.02, loc=0.01))),
    )


def numerics(draw: Draw) -> tuple[Scenario, ...]:
    """float32, memory layouts, copies; x must stay as it was."""
    single = {"dtype": "float32"}

    def own(shape: object, *steps: Step, **kwargs: object) -> tuple[Step, ...]:
        return (build(TARGET, shape, None, **kwargs), *steps)

    return (
        Scenario("float32", (*own(3, step(draw, (2, 3), **single)), State())),
        Scenario("float32, weight and bias", own(3, affine(draw, 3), step(draw, (2, 4, 3), **single))),
        Scenario("float32, two axes", own((2, 3), affine(draw, 2, 3), step(draw, (2, 2, 3), **single))),
        Scenario("float32, elementwise_affine=False", own(3, step(draw, (2, 3), **single), **BARE)),
        Scenario("float64", (build(TARGET, 3), step(draw, (2, 3)), State())),
        *(
            Scenario(f"{layout} input", (build(TARGET, 3), affine(draw, 3), step(draw, (2, 4, 3), layout=layout)))
            for layout in ("transposed", "strided", "channels_last")
        ),
        *(
            Scenario(
                f"{layout} input, two axes",
                (build(TARGET, (2, 3)), affine(draw, 2, 3), step(draw, (2, 4, 2, 3), layout=layout)),
            )
            for layout in ("transposed", "channels_last")
        ),
        Scenario("transposed input (N, D)", (build(TARGET, 3), step(draw, (2, 3), layout="transposed"))),
        Scenario("small numbers in float32", own(3, step(draw, (2, 3), loc=0.0, scale=0.01, **single))),
        Scenario("large numbers", own(3, step(draw, (2, 3), loc=0.0, scale=3000.0, **single))),
        # A call without gradients before the copy: what a layer keeps for itself may then be copied, too.
        Scenario(
            "a deep copy after a call",
            (
                build(TARGET, 3),
                Forward(rows(draw, (2, 3)), grad_enabled=False),
                Reload(copy=True),
                step(draw, (2, 3)),
            ),
        ),
        Scenario("x without gradients", own(3, Forward(rows(draw, (2, 3), **single), grad_enabled=False))),
        Scenario(
            "x without gradients, two axes",
            own((2, 3), affine(draw, 2, 3), Forward(rows(draw, (3, 2, 3), **single), grad_enabled=False)),
        ),
        Scenario(
            "x without gradients, no weight", own(3, Forward(rows(draw, (2, 3), **single), grad_enabled=False), **BARE)
        ),
    )


def large_mean(draw: Draw) -> tuple[Scenario, ...]:
    """float32 with a mean of 100 standard deviations: two passes over the data survive it, one does not."""
    far = {"dtype": "float32", "loc": 100.0, "scale": 1.0}
    return (
        Scenario("16 features", (build(TARGET, 16, None), step(draw, (4, 16), **far))),
        Scenario("two axes", (build(TARGET, (4, 4), None), step(draw, (3, 4, 4), **far))),
        Scenario(
            "without gradients", (build(TARGET, 16, None), Forward(rows(draw, (4, 16), **far), grad_enabled=False))
        ),
        Scenario("tokens, without weight and bias", (build(TARGET, 12, None, **BARE), step(draw, (2, 3, 12), **far))),
    )
