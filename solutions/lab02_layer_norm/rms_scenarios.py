"""What is asked of RMSNorm: one function for each check. Errors are not asked: the contract names none for this layer."""

from __future__ import annotations

from autograder.checks.check import Draw
from autograder.trace.scenario import Build, Forward, Freeze, Load, Recipe, Reload, Scenario, Sizes, State, Step, Twin
from solutions.lab02_layer_norm.inputs import (
    EVAL,
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

TARGET = "RMSNorm"
BARE = {"elementwise_affine": False}
SINGLE = {"dtype": "float32"}


def interface(draw: Draw) -> tuple[Scenario, ...]:
    """Constructor, the one parameter, the state dictionary, elementwise_affine."""
    fresh = tuple(Scenario(f"RMSNorm({given})", (Build(TARGET, (given,)), State())) for given in (3, 1, (2, 3)))
    words = {"normalized_shape": 3, "eps": 0.5, "elementwise_affine": True}
    return (
        *fresh,
        Scenario("all arguments by keyword", (Build(TARGET, (), words, "float64"), State())),
        # Whether the name weight is None then, or not there at all, is nobody's business.
        Scenario(
            "elementwise_affine=False",
            (build(TARGET, 3, **BARE), State()),
            ("parameters", "state_dict keys", "kind of *", "shape of *"),
        ),
        Scenario("a state dictionary of torch.nn", (build(TARGET, 3), saved(draw, 3, bias=False), State())),
        Scenario(  # it means what it means to torch.nn, also where it is small
            "a small weight is loaded",
            (build(TARGET, 3), Load({"weight": Recipe((3,), values=(0.0, 0.2, -0.1))}), State()),
        ),
        Scenario("kinds and shapes after a call", (build(TARGET, 3), call(draw, (2, 3)), Reload(), State())),
        Scenario("in an nn.Sequential with a hook", (build(TARGET, 3, child=True), call(draw, (2, 3)))),
    )


def output(draw: Draw) -> tuple[Scenario, ...]:
    """The output, with eps given and with the default one (which does not show at these sizes)."""
    eps = draw.number(0.3, 0.8)
    weight = affine(draw, 3, bias=False)
    spiky = Recipe((2, 3), values=(0.1, -8.0, 0.2, 0.3, -0.1, 0.2))
    return (
        Scenario("one call", (build(TARGET, 3), call(draw, (2, 3)))),
        Scenario("a large eps", (build(TARGET, 3, eps=eps), call(draw, (2, 3)))),
        Scenario("weight", (build(TARGET, 3), weight, call(draw, (2, 3)))),
        Scenario("far from 0", (build(TARGET, 4), call(draw, (2, 4), loc=6.0, scale=1.0))),  # the mean stays
        Scenario("two features", (build(TARGET, 2), call(draw, (3, 2)))),
        Scenario("one value in a set", (build(TARGET, 1, eps=eps), call(draw, (3, 1)))),
        Scenario("as many samples as features", (build(TARGET, 3), weight, call(draw, (3, 3)))),
        Scenario("tokens (N, T, D)", (build(TARGET, 3, eps=eps), weight, call(draw, (2, 4, 3)))),
        Scenario("as many tokens as features", (build(TARGET, 3), weight, call(draw, (2, 3, 3)))),
        Scenario("a row with one large number", (build(TARGET, 3, eps=eps), Forward(spiky))),
        Scenario("a row of zeros", (build(TARGET, 3, eps=eps), weight, Forward(constant(2, 3, value=0.0)))),
        Scenario("a row of zeros, default eps", (build(TARGET, 3), Forward(constant(1, 3, value=0.0)))),
        Scenario("elementwise_affine=False, called", (build(TARGET, 3, eps=0.2, **BARE), call(draw, (2, 3)))),
        Scenario("arguments by position", (Build(TARGET, (3, 0.5, False), {}, "float64"), call(draw, (2, 3)))),
        Scenario("evaluation", (build(TARGET, 3, eps=eps), weight, EVAL, call(draw, (2, 3)))),
        Scenario("evaluation after training", (build(TARGET, 3), call(draw, (4, 3)), EVAL, call(draw, (1, 3)))),
        Scenario("a single row (D,)", (build(TARGET, 4, eps=eps), call(draw, (4,)))),
        Scenario(
            "one rank and then another",
            (build(TARGET, 3), call(draw, (2, 3)), call(draw, (2, 4, 3)), call(draw, (3, 3))),
        ),
        Scenario("an outlier", (build(TARGET, 27), Forward(outlier(draw, 27)))),
        Scenario(
            "two calls without gradients, weights changed in between",
            (
                build(TARGET, 3),
                EVAL,
                *twice_without_gradients(draw, (2, 3)),
                weight,
                *twice_without_gradients(draw, (2, 3)),
            ),
        ),
        Scenario(
            "beside another layer", (build(TARGET, 3, eps=eps), weight, Twin(rows(draw, (4, 3))), call(draw, (2, 3)))
        ),
    )


def shapes(draw: Draw) -> tuple[Scenario, ...]:
    """normalized_shape as an int, a list, a tuple, a torch.Size."""
    eps = draw.number(0.3, 0.8)
    asked: dict[str, tuple[object, tuple[int, ...], tuple[int, ...]]] = {
        "a tuple of one": ((3,), (3,), (2, 3)),
        "a list of one": (Sizes("list", (3,)), (3,), (2, 3)),
        "a torch.Size of one": (Sizes("Size", (3,)), (3,), (2, 3)),
        "a tuple of two": ((2, 3), (2, 3), (3, 2, 3)),
        "a list of two": (Sizes("list", (2, 3)), (2, 3), (2, 2, 3)),
        "a torch.Size of two": (Sizes("Size", (3, 2)), (3, 2), (2, 3, 2)),
        "three axes": ((2, 3, 2), (2, 3, 2), (3, 2, 3, 2)),
        "two axes in front": ((2, 3), (2, 3), (2, 2, 2, 3)),
    }
    return tuple(
        Scenario(name, (build(TARGET, given, eps=eps), affine(draw, *shape, bias=False), call(draw, x_shape), State()))
        for name, (given, shape, x_shape) in asked.items()
    )


def default_eps(draw: Draw) -> tuple[Scenario, ...]:
    """eps=None is the eps of x's dtype; a given eps is that number, also 0. Rows so small that each shows."""
    tiny = {"float64": 2e-8, "float32": 4e-4}  # about the root of the dtype's eps

    def small(dtype: str, size: float | None = None) -> Forward:
        scale = size if size is not None else tiny[dtype]
        return Forward(rows(draw, (2, 3), loc=0.5 * scale, scale=scale, dtype=dtype))

    def asked(name: str, *steps: Step, dtype: str = "float64", **kwargs: object) -> Scenario:
        # Without weight: what dtype the output has is another check's business.
        return Scenario(name, (build(TARGET, 3, dtype, **BARE, **kwargs), *steps), own_dtype=True)

    return (
        asked("eps left out, float64", small("float64")),
        asked("eps left out, float32", small("float32"), dtype="float32"),
        asked("eps=None, float64", small("float64"), eps=None),
        asked("eps=None, float32", small("float32"), dtype="float32", eps=None),
        asked("one layer, float32 and then float64", small("float32"), small("float64"), small("float32")),
        # Seen in the gradient of weight, whose dtype is weight's own: what dtype comes out is another check's business here, too.
        Scenario(
            "x in float32, weight in float64",
            (build(TARGET, 3), step(draw, (2, 3), loc=2e-4, scale=4e-4, **SINGLE)),
            ("m.weight.grad",),
            own_dtype=True,
        ),
        asked("eps=0, float64", small("float64"), eps=0.0),
        asked("eps=1, an int", small("float64", 2.0), eps=1),
        asked("eps=0, float32", small("float32"), dtype="float32", eps=0.0),
        asked("eps=1e-6, float64", small("float64", 1e-3), eps=1e-6),
        asked("eps=1e-6, float32", small("float32", 1e-3), dtype="float32", eps=1e-6),
    )


def gradients(draw: Draw) -> tuple[Scenario, ...]:
    """Through autograd, with x or weight frozen."""
    eps = draw.number(0.3, 0.8)
    start = (build(TARGET, 3, eps=eps), affine(draw, 3, bias=False))
    return (
        Scenario("one step", (build(TARGET, 3), step(draw, (2, 3)))),
        Scenario("weight", (*start, step(draw, (4, 3)))),
        Scenario("far from 0", (*start, step(draw, (2, 3), loc=5.0, scale=1.0))),
        Scenario("x frozen", (*start, step(draw, (2, 3), x_requires_grad=False))),
        Scenario("weight frozen", (*start, Freeze(("weight",)), step(draw, (2, 3)))),
        Scenario("elementwise_affine=False", (build(TARGET, 3, eps=eps, **BARE), step(draw, (2, 3)))),
        Scenario("two steps", (*start, step(draw, (2, 3)), step(draw, (4, 3)))),
        Scenario("tokens", (*start, step(draw, (2, 4, 3)))),
        Scenario("two axes", (build(TARGET, (2, 3)), affine(draw, 2, 3, bias=False), step(draw, (3, 2, 3)))),
        Scenario("a row of zeros", (*start, Forward(constant(2, 3, value=0.0), upstream(draw, (2, 3))))),
        Scenario("small numbers", (build(TARGET, 3, eps=1e-4), step(draw, (2, 3), scale=0.02, loc=0.01))),
        Scenario("evaluation", (*start, EVAL, step(draw, (2, 3)))),
        Scenario(
            "a large gradient arrives", (*start, Forward(rows(draw, (2, 3)), draw.tensor(2, 3, loc=50.0, scale=300.0)))
        ),
        Scenario("two steps with x frozen", (*start, *(step(draw, (2, 3), x_requires_grad=False) for _ in range(2)))),
    )


def numerics(draw: Draw) -> tuple[Scenario, ...]:
    """The dtype of the output, memory layouts, x left alone, large numbers, copies."""
    weight = affine(draw, 3, bias=False)
    return (
        Scenario("float32", (build(TARGET, 3, None), weight, step(draw, (2, 3), **SINGLE), State())),
        Scenario("float32, elementwise_affine=False", (build(TARGET, 3, None, **BARE), step(draw, (2, 3), **SINGLE))),
        Scenario("float64", (build(TARGET, 3), weight, step(draw, (2, 3)), State())),
        # own_dtype: the question is which dtype comes out where two meet.
        Scenario(
            "x in float32, weight in float64", (build(TARGET, 3), weight, call(draw, (2, 3), **SINGLE)), ("y",), True
        ),
        Scenario("x in float64, weight in float32", (build(TARGET, 3, "float32"), call(draw, (2, 3))), ("y",), True),
        Scenario(
            "x in float32, weight in float64, without gradients",
            (build(TARGET, 3), Forward(rows(draw, (2, 3), **SINGLE), grad_enabled=False)),
            ("y",),
            True,
        ),
        *(
            Scenario(f"{layout} input", (build(TARGET, 3), weight, step(draw, (2, 4, 3), layout=layout)))
            for layout in ("transposed", "strided", "channels_last")
        ),
        Scenario("two axes, transposed", (build(TARGET, (2, 3)), step(draw, (2, 4, 2, 3), layout="transposed"))),
        Scenario("large numbers", (build(TARGET, 3, None), step(draw, (2, 3), loc=0.0, scale=3000.0, **SINGLE))),
        Scenario(
            "a mean of 100 standard deviations",
            (build(TARGET, 8, None), step(draw, (3, 8), loc=100.0, scale=1.0, **SINGLE)),
        ),
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
        Scenario(
            "x without gradients", (build(TARGET, 3, None), Forward(rows(draw, (2, 3), **SINGLE), grad_enabled=False))
        ),
        Scenario(
            "x without gradients, two axes",
            (build(TARGET, (2, 3), None), Forward(rows(draw, (3, 2, 3), **SINGLE), grad_enabled=False)),
        ),
        Scenario(
            "x without gradients, no weight",
            (build(TARGET, 3, None, **BARE), Forward(rows(draw, (2, 3), **SINGLE), grad_enabled=False)),
        ),
    )
