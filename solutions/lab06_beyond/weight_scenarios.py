"""What is asked of WeightNormLinear: one function for each check, its scenarios from the smallest to the larger.

g is never the length of v, its signs differ, and in and out differ, so that no axis can stand for the other.
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
    State,
    Step,
    Twin,
)
from solutions.lab06_beyond.drawing import EVAL, grad_of, linear, weights

HELD = ("weight_?", "bias")
KINDS = (  # without the numbers: a fresh layer's are drawn
    "parameters",
    "state_dict keys",
    "forward*",
    *(f"{what} of m.{name}" for what in ("kind", "shape") for name in HELD),
)


def interface(draw: Draw) -> tuple[Scenario, ...]:
    """Constructor, parameters, state dictionary; called as a child, so that hooks must fire."""
    return (
        Scenario("WeightNormLinear(3, 2)", (Build("WeightNormLinear", (3, 2)), State()), KINDS),
        Scenario("WeightNormLinear(1, 4)", (Build("WeightNormLinear", (1, 4)), State()), KINDS),
        Scenario("no bias, by position", (Build("WeightNormLinear", (2, 3, False)), State()), KINDS),
        Scenario(
            "all arguments by keyword",
            (Build("WeightNormLinear", (), {"in_features": 4, "out_features": 2, "bias": True}), State()),
            KINDS,
        ),
        Scenario("no bias, by keyword", (linear(3, 2, bias=False), State()), KINDS),
        Scenario("a state dictionary", (linear(3, 2), weights(draw, 3, 2, fill=False), State())),
        Scenario(
            "a state dictionary without bias",
            (linear(2, 4, bias=False), weights(draw, 2, 4, bias=False, fill=False), State()),
            (*KINDS, "m.weight_?"),
        ),
        Scenario(
            "kinds and shapes after a call",
            (linear(3, 2), weights(draw, 3, 2), Forward(draw.tensor(4, 3)), Reload(), State()),
        ),
        Scenario(
            "in an nn.Sequential with a hook", (linear(3, 2, child=True), Forward(draw.tensor(4, 3))), ("forward*",)
        ),
    )


def start(draw: Draw) -> tuple[Scenario, ...]:
    """A fresh layer is the plain linear layer of weight_v, and weight_v has more than one row."""
    del draw  # what a fresh layer holds is the student's own draw
    return (
        *(
            Scenario(f"WeightNormLinear{sizes}", (Build("WeightNormLinear", sizes), State()))
            for sizes in ((3, 2), (2, 5), (4, 4), (7, 1))
        ),
        Scenario("without a bias", (Build("WeightNormLinear", (3, 4, False)), State())),
    )


def _call(draw: Draw, *shape: int, grad_enabled: bool = True) -> Forward:
    return Forward(draw.tensor(*shape, loc=0.5, scale=1.5), grad_enabled=grad_enabled)


def forward(draw: Draw) -> tuple[Scenario, ...]:
    """The output for (N, in), and that g and v are read only."""

    def given(inputs: int, outputs: int, size: float = 1.0, bias: bool = True) -> tuple[Step, ...]:
        built = linear(inputs, outputs) if bias else linear(inputs, outputs, bias=False)
        return (built, weights(draw, inputs, outputs, bias, size))

    return (
        Scenario("more inputs than outputs", (*given(3, 2), _call(draw, 4, 3), State())),
        Scenario("more outputs than inputs", (*given(2, 4), _call(draw, 3, 2), State())),
        Scenario("as many", (*given(3, 3), _call(draw, 2, 3), State())),
        Scenario("no bias", (*given(3, 2, bias=False), _call(draw, 4, 3), State()), ("y", "m.weight_*")),
        Scenario("one input", (*given(1, 3), _call(draw, 4, 1), State())),
        Scenario("one output", (*given(3, 1), _call(draw, 4, 3), State())),
        Scenario("one sample", (*given(3, 2), _call(draw, 1, 3), State())),
        Scenario("a short v", (*given(3, 2, 0.002), _call(draw, 4, 3), State())),
        # Shows any eps but the one of F.normalize, 1e-12, which the text allows.
        Scenario("a very short v", (*given(3, 2, 2e-10), _call(draw, 4, 3), State())),
        Scenario("a long v", (*given(3, 2, 300.0), _call(draw, 4, 3), State())),
        Scenario("a very long v", (*given(3, 2, 5e5), _call(draw, 4, 3), State())),
        Scenario("a short row beside a long one", (*given(2, 2), _rows(3e-6, -4e-6, 300.0, 400.0), _call(draw, 4, 2))),
        Scenario("one input of either sign", (*given(1, 2), _rows(-2.0, 3.0), _call(draw, 4, 1))),
        Scenario("evaluation mode", (*given(3, 2), EVAL, _call(draw, 4, 3), State())),
        Scenario("without gradients", (*given(3, 2), _call(draw, 4, 3, grad_enabled=False), State())),
        Scenario(
            "weights frozen", (*given(3, 2), Freeze(("weight_g", "weight_v", "bias")), _call(draw, 4, 3), State())
        ),
        Scenario("called twice", (*given(3, 2), _call(draw, 4, 3), _call(draw, 2, 3), State())),
        Scenario(  # nothing is worked out once and for all
            "weights changed in between",
            (*given(3, 2), _call(draw, 4, 3), weights(draw, 3, 2), _call(draw, 4, 3), State()),
        ),
        Scenario(
            "weights changed in between, evaluation",
            (linear(3, 2), EVAL, weights(draw, 3, 2), _call(draw, 4, 3), weights(draw, 3, 2), _call(draw, 4, 3)),
        ),
        Scenario(  # nor handed out twice
            "calls without gradients, weights changed in between",
            (
                linear(3, 2),
                EVAL,
                *(
                    step
                    for _ in range(2)
                    for step in (weights(draw, 3, 2), *(_call(draw, 4, 3, grad_enabled=False) for _ in range(2)))
                ),
            ),
        ),
        Scenario(
            "g alone changed in between, evaluation",
            (*given(3, 2), EVAL, *(step for g in (1.5, -0.5) for step in (_g(g, 2), _call(draw, 4, 3)))),
        ),
        Scenario("beside another layer", (*given(3, 2), Twin(draw.tensor(2, 3)), _call(draw, 4, 3), State())),
        Scenario("g of 0", (*given(3, 2), _g(0.0, 2), _call(draw, 4, 3), State())),
    )


def _g(value: float, outputs: int) -> Step:
    return Load({"weight_g": Recipe((outputs, 1), values=(value,) * outputs)}, fill=True)


def _rows(*values: float) -> Step:
    """Return numbers for the two rows of v."""
    return Load({"weight_v": Recipe((2, len(values) // 2), values=values)}, fill=True)


def shapes(draw: Draw) -> tuple[Scenario, ...]:
    """Any axes before the last, as nn.Linear takes them."""
    found = ((3,), (2, 3), (2, 4, 3), (3, 3, 3), (2, 1, 2, 3), (1, 1, 3))
    return (
        *(Scenario(f"x of shape {shape}", (linear(3, 2), weights(draw, 3, 2), _call(draw, *shape))) for shape in found),
        Scenario("one output, x of shape (2, 4, 3)", (linear(3, 1), weights(draw, 3, 1), _call(draw, 2, 4, 3))),
        Scenario(
            "x of shape (2, 4, 3), no bias",
            (linear(3, 5, bias=False), weights(draw, 3, 5, bias=False), _call(draw, 2, 4, 3)),
        ),
        Scenario(
            "one shape, then another",
            (linear(3, 2), weights(draw, 3, 2), _call(draw, 4, 3), _call(draw, 2, 2, 3), _call(draw, 3)),
        ),
    )


def gradients(draw: Draw) -> tuple[Scenario, ...]:
    """Through autograd to x, g, v and the bias, whatever is frozen."""

    def step(*shape: int, outputs: int = 2, **more: object) -> Forward:
        x = draw.tensor(*shape, loc=0.5, scale=1.5)
        return Forward(x, grad_of(draw, (*shape[:-1], outputs)), **more)  # type: ignore[arg-type]

    def given(inputs: int = 3, outputs: int = 2, size: float = 1.0) -> tuple[Step, ...]:
        return (linear(inputs, outputs), weights(draw, inputs, outputs, size=size))

    frozen = [
        ("x", (), False),
        ("g", ("weight_g",), True),
        ("v", ("weight_v",), True),
        ("the bias", ("bias",), True),
        ("g and v", ("weight_g", "weight_v"), True),
        ("x and v", ("weight_v",), False),
        ("x and g", ("weight_g",), False),
    ]
    return (
        Scenario("one step", (*given(), step(4, 3))),
        Scenario("more outputs than inputs", (*given(2, 4), step(3, 2, outputs=4))),
        Scenario("one sample", (*given(), step(1, 3))),
        Scenario("no bias", (linear(3, 2, bias=False), weights(draw, 3, 2, bias=False), step(4, 3))),
        Scenario("x of shape (2, 3, 3)", (*given(), step(2, 3, 3))),
        Scenario("x of shape (3,)", (*given(), step(3))),
        Scenario("x of shape (2, 2, 2, 3)", (*given(), step(2, 2, 2, 3))),
        Scenario("g, v and the bias frozen", (*given(), Freeze(("weight_g", "weight_v", "bias")), step(4, 3))),
        Scenario("g of 0", (*given(), _g(0.0, 2), step(4, 3))),
        Scenario("a bias of 0", (*given(), Load({"bias": Recipe((2,), values=(0.0, 0.0))}, fill=True), step(4, 3))),
        *(
            Scenario(f"{who} frozen", (*given(), Freeze(names), step(4, 3, x_requires_grad=x)))
            for who, names, x in frozen
        ),
        Scenario("two steps", (*given(), step(4, 3), step(2, 3))),
        Scenario("weights changed in between", (*given(), step(4, 3), weights(draw, 3, 2), step(4, 3))),
        Scenario("a short v", (*given(size=0.05), step(4, 3))),
        Scenario("evaluation mode", (*given(), EVAL, step(4, 3))),
        Scenario(
            "another call between forward and backward",
            (
                *given(),
                Forward(draw.tensor(4, 3), later=True),
                Forward(draw.tensor(2, 3), grad_enabled=False),
                Backward(grad_of(draw, (4, 2))),
            ),
        ),
        Scenario(
            "another call of the same shape between them",
            (*given(), Forward(draw.tensor(4, 3), later=True), _call(draw, 4, 3), Backward(grad_of(draw, (4, 2)))),
        ),
        Scenario(
            "a large gradient arrives",
            (*given(), Forward(draw.tensor(4, 3, loc=0.5), draw.tensor(4, 2, loc=50.0, scale=300.0))),
        ),
        Scenario("x frozen, evaluation mode", (*given(), EVAL, step(4, 3, x_requires_grad=False))),
    )


def numerics(draw: Draw) -> tuple[Scenario, ...]:
    """float32 and float64, memory layouts, large and small numbers, copies; x must stay as it was."""

    def step(*shape: int, **more: object) -> Forward:
        dtype, layout = more.get("dtype", "float64"), more.get("layout", "contiguous")
        upstream = grad_of(draw, (*shape[:-1], 2), dtype=dtype, layout=layout)
        return Forward(draw.tensor(*shape, **{"loc": 0.5, **more}), upstream)  # type: ignore[arg-type]

    single = {"dtype": "float32"}
    return (
        Scenario("float32", (linear(3, 2, None), weights(draw, 3, 2), step(4, 3, **single), State())),
        Scenario("float64", (linear(3, 2), weights(draw, 3, 2), step(4, 3), State())),
        Scenario("float32, x of shape (3,)", (linear(3, 2, None), weights(draw, 3, 2), step(3, **single))),
        *(
            Scenario(f"{layout} input", (linear(3, 2), weights(draw, 3, 2), step(*shape, layout=layout)))
            for layout, shape in (("transposed", (4, 3)), ("strided", (4, 3)), ("transposed", (2, 4, 3)))
        ),
        Scenario(
            "float32, a long v", (linear(3, 2, None), weights(draw, 3, 2, size=2000.0), step(4, 3, **single), State())
        ),
        Scenario(
            "float32, large numbers", (linear(3, 2, None), weights(draw, 3, 2), step(4, 3, scale=2000.0, **single))
        ),
        # A call without gradients before the copy: what a layer keeps for itself may then be copied, too.
        Scenario(
            "a deep copy after a call",
            (
                linear(3, 2),
                weights(draw, 3, 2),
                Forward(draw.tensor(4, 3), grad_enabled=False),
                Reload(copy=True),
                step(4, 3),
                State(),
            ),
        ),
        Scenario(
            "x without gradients",
            (linear(3, 2), weights(draw, 3, 2), Forward(draw.tensor(4, 3), grad_enabled=False)),
        ),
    )
