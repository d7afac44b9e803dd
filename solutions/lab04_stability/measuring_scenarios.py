"""What is asked of the functions that measure one example in its batch: one function for each check.

The models are made by the grader. Most have a linear layer and a tanh around the normalization, so that outputs are no longer
inputs, rows cannot be swapped unseen, and D differs from C. The comments say which mistakes a scenario is there for.
"""

from __future__ import annotations

from dataclasses import replace

from autograder.checks.check import Draw
from autograder.trace.network import Network
from autograder.trace.scenario import Argument, Call, Dtype, Recipe, Scenario


def call(name: str, target: str, *args: Argument, **kwargs: Argument) -> Scenario:
    """One scenario of one call."""
    return Scenario(name, (Call(target, args, kwargs),))


def _norm(draw: Draw, kind: str, c: int, training: bool = True) -> Network:
    sizes = (2, c) if kind == "group_norm" else (c,)
    return draw.network((kind, *sizes), training=training)


def _deep(draw: Draw, kind: str, c: int, d: int, training: bool = True, hidden: int = 4) -> Network:
    """Linear, norm, tanh, linear; the first two in a block, so that modes and numbers lie at two depths."""
    sizes = (2, hidden) if kind == "group_norm" else (hidden,)
    block = ("block", ("linear", c, hidden), (kind, *sizes))
    return draw.network(block, ("tanh",), ("linear", hidden, d), training=training)


def _half_frozen(draw: Draw, c: int, d: int) -> Network:
    """A model in training mode with a part in evaluation mode, and with gradients of an earlier backward pass."""
    block = ("block", ("linear", c, 4), ("still", ("batch_norm", 4)))
    return draw.network(block, ("tanh",), ("linear", 4, d), gradients=True)


def _odd(draw: Draw, c: int, d: int) -> Network:
    """A model with a part that wants no gradient."""
    return draw.network(("frozen", ("linear", c, 4)), ("batch_norm", 4), ("linear", 4, d))


def _by_row(draw: Draw, c: int, d: int) -> Network:
    """A model whose first row is not like any other, so that x0 in another row shows."""
    return draw.network(("by_row",), ("linear", c, d))


def _x0(draw: Draw, c: int, dtype: Dtype = "float64") -> Recipe:
    return draw.tensor(c, loc=0.8, scale=1.5, dtype=dtype)


def _others(draw: Draw, k: int, m: int, c: int, dtype: Dtype = "float64", **more: object) -> Recipe:
    """Companions for k batches of m: (k, m - 1, c)."""
    return draw.tensor(k, m - 1, c, loc=0.3, scale=2.0, dtype=dtype, **more)  # type: ignore[arg-type]


def _grad(draw: Draw, d: int, dtype: Dtype = "float64") -> Recipe:
    return draw.tensor(d, loc=0.4, scale=1.5, dtype=dtype)


def printed(draw: Draw) -> tuple[Scenario, ...]:
    """The number of the first version for small and large batches, and where there is none."""
    some = int(draw.number(5, 60))
    sizes = (2, 3, 4, some, 128)
    target = "printed_stability"
    return (
        *(call(f"a batch of {m}", target, m) for m in sizes),
        call("by keyword", target, m=6),
        call("a batch of one", target, 1),
        call("a batch of none", target, 0),
    )


def outputs(draw: Draw) -> tuple[Scenario, ...]:
    """The outputs of x0 in training mode."""
    target = "outputs_with_companions"
    words = {"layer": _norm(draw, "batch_norm", 2), "x0": _x0(draw, 2), "companions": _others(draw, 2, 4, 2)}
    return (
        call("batches of three", target, _norm(draw, "batch_norm", 2), _x0(draw, 2), _others(draw, 4, 3, 2)),
        call("batches of two", target, _norm(draw, "batch_norm", 3), _x0(draw, 3), _others(draw, 4, 2, 3)),
        call(
            "a layer in evaluation mode",
            target,
            _norm(draw, "batch_norm", 2, training=False),
            _x0(draw, 2),
            _others(draw, 3, 4, 2),
        ),
        call("another number of features comes out", target, _deep(draw, "batch_norm", 3, 2), _x0(draw, 3), _others(draw, 2, 5, 3)),
        call("all sizes equal", target, _deep(draw, "batch_norm", 3, 3), _x0(draw, 3), _others(draw, 3, 4, 3)),
        call("layer norm", target, _deep(draw, "layer_norm", 3, 2), _x0(draw, 3), _others(draw, 2, 3, 3)),
        call("group norm", target, _norm(draw, "group_norm", 4), _x0(draw, 4), _others(draw, 3, 3, 4)),
        call("a single draw", target, _norm(draw, "batch_norm", 2), _x0(draw, 2), _others(draw, 1, 6, 2)),
        call("no companions", target, _deep(draw, "layer_norm", 3, 2), _x0(draw, 3), _others(draw, 2, 1, 3)),
        call("no companions, batch norm", target, _norm(draw, "batch_norm", 2), _x0(draw, 2), _others(draw, 2, 1, 2)),
        call(
            "float32",
            target,
            _deep(draw, "batch_norm", 3, 2).in_dtype("float32"),
            _x0(draw, 3, "float32"),
            _others(draw, 2, 4, 3, "float32"),
        ),
        call(
            "companions that are not contiguous",
            target,
            _deep(draw, "batch_norm", 3, 2),
            _x0(draw, 3),
            _others(draw, 2, 4, 3, layout="transposed"),
        ),
        call("a layer that knows its rows", target, _by_row(draw, 3, 2), _x0(draw, 3), _others(draw, 2, 4, 3)),
        call("arguments by keyword", target, **words),
    )  # fmt: skip


def gradients(draw: Draw) -> tuple[Scenario, ...]:
    """The gradients of x0 in training mode."""
    target = "input_gradients"

    def asked(
        name: str, network: Network, k: int, m: int, c: int, d: int, dtype: Dtype = "float64", **more: object
    ) -> Scenario:
        given = (_x0(draw, c, dtype), _others(draw, k, m, c, dtype, **more), _grad(draw, d, dtype))
        return call(name, target, network, *given)

    words: dict[str, Argument] = {
        "layer": _deep(draw, "batch_norm", 2, 3), "x0": _x0(draw, 2), "companions": _others(draw, 2, 4, 2),
        "grad_out": _grad(draw, 3),
    }  # fmt: skip
    return (
        asked("batches of three", _norm(draw, "batch_norm", 2), 4, 3, 2, 2),
        asked("a layer in evaluation mode", _norm(draw, "batch_norm", 2, training=False), 3, 4, 2, 2),
        asked("another number of features comes out", _deep(draw, "batch_norm", 3, 2), 2, 5, 3, 2),
        asked("all sizes equal", _deep(draw, "batch_norm", 3, 3), 3, 4, 3, 3),
        asked("layer norm", _deep(draw, "layer_norm", 3, 2), 2, 3, 3, 2),
        asked("group norm", _norm(draw, "group_norm", 4), 3, 3, 4, 4),
        asked("a single draw", _deep(draw, "batch_norm", 2, 2), 1, 6, 2, 2),
        asked("no companions", _deep(draw, "layer_norm", 3, 2), 2, 1, 3, 2),
        asked("no companions, batch norm", _norm(draw, "batch_norm", 2), 2, 1, 2, 2),
        asked("float32", _deep(draw, "batch_norm", 3, 2).in_dtype("float32"), 2, 4, 3, 2, "float32"),
        asked("companions that are not contiguous", _deep(draw, "batch_norm", 3, 2), 2, 4, 3, 2, layout="transposed"),
        asked("a layer that knows its rows", _by_row(draw, 3, 2), 2, 4, 3, 2),
        call("arguments by keyword", target, **words),
    )


def leaks(draw: Draw) -> tuple[Scenario, ...]:
    """How one example's output answers to another's input."""
    target = "leak"

    def asked(
        name: str, network: Network, m: int, c: int, d: int, i: int, j: int, dtype: Dtype = "float64", **more: object
    ) -> Scenario:
        x = draw.tensor(m, c, loc=0.3, scale=2.0, dtype=dtype, **more)  # type: ignore[arg-type]
        return call(name, target, network, x, i, j, _grad(draw, d, dtype))

    words: dict[str, Argument] = {
        "layer": _deep(draw, "batch_norm", 2, 3), "x": draw.tensor(4, 2, scale=2.0), "i": 3, "j": 1,
        "grad_out": _grad(draw, 3),
    }  # fmt: skip
    return (
        asked("one onto another", _norm(draw, "batch_norm", 2), 3, 2, 2, 0, 2),
        asked("one onto itself", _norm(draw, "batch_norm", 2), 4, 2, 2, 1, 1),
        asked("a layer in evaluation mode", _norm(draw, "batch_norm", 2, training=False), 3, 2, 2, 2, 0),
        asked("i and j are not the same thing", _deep(draw, "batch_norm", 3, 2), 4, 3, 2, 3, 1),
        asked("all sizes equal", _deep(draw, "batch_norm", 3, 3), 3, 3, 3, 1, 2),
        asked("layer norm", _deep(draw, "layer_norm", 3, 2), 3, 3, 2, 0, 1),
        asked("layer norm, one onto itself", _deep(draw, "layer_norm", 3, 2), 3, 3, 2, 2, 2),
        asked("group norm", _norm(draw, "group_norm", 4), 3, 4, 4, 2, 0),
        asked("a larger batch", _deep(draw, "batch_norm", 2, 4), 7, 2, 4, 5, 2),
        asked("float32", _deep(draw, "batch_norm", 3, 2).in_dtype("float32"), 4, 3, 2, 0, 3, "float32"),
        asked("x is not contiguous", _deep(draw, "batch_norm", 3, 2), 4, 3, 2, 0, 3, layout="transposed"),
        call("arguments by keyword", target, **words),
    )


def spreads(draw: Draw) -> tuple[Scenario, ...]:
    """One number from K draws of an output."""
    target = "spread"
    word = {"outputs": draw.tensor(3, 2, loc=2.0)}
    return (
        call("two draws of one feature", target, draw.tensor(2, 1, loc=2.0, scale=1.5)),
        call("three draws", target, draw.tensor(3, 2, loc=(1.0, -4.0), scale=(0.5, 3.0))),
        call("as many draws as features", target, draw.tensor(4, 4, loc=(3.0, -3.0, 1.0, 0.5), scale=(0.3, 1.0, 2.0, 3.0))),
        call("many draws", target, draw.tensor(9, 3, loc=-1.0, scale=(0.2, 1.0, 4.0))),
        call("a single draw", target, draw.tensor(1, 3, loc=2.0)),
        call("small numbers", target, draw.tensor(5, 3, loc=0.02, scale=0.01)),
        call("a large mean, float32", target, draw.tensor(6, 3, loc=100.0, dtype="float32")),
        call("not contiguous", target, draw.tensor(3, 4, scale=2.0, layout="transposed")),
        call("the argument by keyword", target, **word),
    )  # fmt: skip


def manners(draw: Draw, target: str) -> tuple[Scenario, ...]:
    """What must stand as it stood: the layer and the arguments. And a call so plain that only an answer is asked for."""
    needs_grad = target != "outputs_with_companions"

    def asked(name: str, network: Network, m: int, c: int, d: int) -> Scenario:
        grad = (_grad(draw, d),) if needs_grad else ()
        if target == "leak":
            return call(name, target, network, draw.tensor(m, c, scale=2.0), 0, m - 1, *grad)
        return call(name, target, network, _x0(draw, c), _others(draw, 2, m, c), *grad)

    layers = (
        asked("batch norm in training mode", _norm(draw, "batch_norm", 2), 3, 2, 2),
        asked("batch norm in evaluation mode", _norm(draw, "batch_norm", 2, training=False), 3, 2, 2),
        asked("layer norm in evaluation mode", _norm(draw, "layer_norm", 3, training=False), 2, 3, 3),
        asked("a network in training mode", _deep(draw, "batch_norm", 3, 2), 4, 3, 2),
        asked("a network in evaluation mode", _deep(draw, "batch_norm", 3, 2, training=False), 4, 3, 2),
        asked("group norm in a network", _deep(draw, "group_norm", 3, 2, training=False), 3, 3, 2),
        # One flag for the whole model, and a zero_grad to tidy up, lose what the user had set up.
        asked("a part that is frozen in evaluation mode, gradients that are there", _half_frozen(draw, 3, 2), 4, 3, 2),
        # Everything set to want a gradient is not how it was.
        asked("parameters that want no gradient", _odd(draw, 3, 2), 4, 3, 2),
    )
    only = ("* keeps its *", "* is unchanged")
    return (_plain_answer(draw, target), *(replace(scenario, only=only) for scenario in layers))


def _plain_answer(draw: Draw, target: str) -> Scenario:
    """A layer that does nothing, and companions that are all like x0: whoever answers at all answers right."""
    numbers = (draw.number(1, 3), draw.number(-3, -1))
    name, layer, grad = "a layer that does nothing", draw.network(("identity",)), _grad(draw, 2)
    if target == "leak":
        x = Recipe((2, 2), values=numbers * 2)
        return Scenario(name, (Call(target, (layer, x, 0, 0, grad)),), ("result",))
    given = (layer, Recipe((2,), values=numbers), Recipe((2, 2, 2), values=numbers * 4))
    return Scenario(name, (Call(target, (*given, grad) if target == "input_gradients" else given),), ("result",))
