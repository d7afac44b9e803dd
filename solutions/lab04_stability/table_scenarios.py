"""What is asked of the table over layers and batch sizes, of training on given batches, of the error, and of the summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from autograder.checks.check import Draw
from autograder.trace.network import Network
from autograder.trace.scenario import Argument, Call, Dtype, Listed, Recipe, Scenario
from solutions.lab04_stability.measuring_scenarios import call

CLASSES = 4


def _layers(draw: Draw, c: int, training: bool = True) -> dict[str, Argument]:
    """Three layers under names that are not in alphabetical order, so that sorting them shows."""
    return {
        "layer norm": draw.network(("layer_norm", c), training=training),
        "batch norm": draw.network(("batch_norm", c), training=training),
        "a group norm": draw.network(("linear", c, 4), ("group_norm", 2, 4), ("tanh",), ("linear", 4, c)),
    }


def _sizes(draw: Draw, k: int, c: int, *sizes: int, dtype: Dtype = "float64") -> tuple[Recipe, ...]:
    return tuple(draw.tensor(k, m - 1, c, loc=0.3, scale=2.0, dtype=dtype) for m in sizes)


def _in_float32(layers: Mapping[str, Argument]) -> dict[str, Argument]:
    return {name: net.in_dtype("float32") for name, net in layers.items() if isinstance(net, Network)}


def table(draw: Draw) -> tuple[Scenario, ...]:
    """Spreads of outputs and of gradients where no layer refuses."""
    target = "stability_table"
    x0, grad = draw.tensor(3, loc=0.8), draw.tensor(3, loc=0.4, scale=1.5)
    two = {"b": draw.network(("batch_norm", 2)), "a": draw.network(("linear", 2, 2), ("batch_norm", 2))}
    words: dict[str, Argument] = {
        "layers": two, "x0": draw.tensor(2), "companions": _sizes(draw, 2, 2, 3, 5), "grad_out": draw.tensor(2, loc=1.0),
    }  # fmt: skip
    return (
        call("one layer, two sizes", target, {"b": two["b"]}, draw.tensor(2), _sizes(draw, 3, 2, 3, 4)),
        call("two layers, three sizes", target, two, draw.tensor(2), _sizes(draw, 3, 2, 3, 2, 5)),
        call("three layers", target, _layers(draw, 3), x0, _sizes(draw, 4, 3, 2, 4)),
        call("layers in evaluation mode", target, _layers(draw, 3, training=False), x0, _sizes(draw, 4, 3, 3)),
        call("gradients", target, two, draw.tensor(2), _sizes(draw, 3, 2, 3, 5), draw.tensor(2, loc=1.0)),
        call(
            "gradients of nothing", target, two, draw.tensor(2), _sizes(draw, 3, 2, 3), Recipe((2,), values=(0.0, 0.0))
        ),
        call("gradients of three layers", target, _layers(draw, 3), x0, _sizes(draw, 3, 3, 3, 4), grad),
        call("arguments by keyword", target, **words),
        call(
            "companions in a list",
            target,
            two,
            draw.tensor(2),
            Listed(_sizes(draw, 3, 2, 3, 5)),
            draw.tensor(2, loc=1.0),
        ),
        call(
            "float32",
            target,
            _in_float32(_layers(draw, 3)),
            draw.tensor(3, loc=0.8, dtype="float32"),
            _sizes(draw, 3, 3, 3, 4, dtype="float32"),
        ),
    )


def refusals(draw: Draw) -> tuple[Scenario, ...]:
    """nan where a layer refuses the batch, and only there; what is no ValueError passes through."""
    target = "stability_table"
    x0, grad = draw.tensor(3, loc=0.8), draw.tensor(3, loc=0.4, scale=1.5)
    wide = {"layer norm": draw.network(("layer_norm", 3)), "too wide": draw.network(("linear", 5, 2))}
    mistyped = {"layer norm": draw.network(("layer_norm", 3)), "of another type": draw.network(("mistyped",))}
    # It refuses a single example as batch norm does, and is not called so.
    single = {"groups of one": draw.network(("group_norm", 3, 3)), "layer norm": draw.network(("layer_norm", 3))}
    return (
        call("batches of one", target, _layers(draw, 3), x0, _sizes(draw, 2, 3, 1)),
        call("batches of one in the middle", target, _layers(draw, 3), x0, _sizes(draw, 3, 3, 3, 1, 2)),
        call("batches of one first", target, _layers(draw, 3, training=False), x0, _sizes(draw, 3, 3, 1, 4)),
        call("gradients", target, _layers(draw, 3), x0, _sizes(draw, 3, 3, 3, 1, 4), grad),
        call("a layer for another number of features", target, wide, x0, _sizes(draw, 2, 3, 3)),
        call("a layer with a fault of another kind", target, mistyped, x0, _sizes(draw, 2, 3, 3)),
        call("groups of one channel", target, single, x0, _sizes(draw, 2, 3, 3, 1)),
    )


def table_manners(draw: Draw) -> tuple[Scenario, ...]:
    """The layers of the table stay as they were."""
    target = "stability_table"
    x0, grad = draw.tensor(3, loc=0.8), draw.tensor(3, loc=0.4, scale=1.5)
    zero = Recipe((2,), values=(1.0, 2.0))
    plain = (zero, (Recipe((2, 1, 2), values=(1.0, 2.0) * 2),))
    only = ("* keeps its *", "* is unchanged")
    asked = (
        call("in training mode", target, _layers(draw, 3), x0, _sizes(draw, 2, 3, 3, 1, 2)),
        call("in evaluation mode", target, _layers(draw, 3, training=False), x0, _sizes(draw, 2, 3, 3, 1, 2)),
        call("gradients", target, _layers(draw, 3, training=False), x0, Listed(_sizes(draw, 2, 3, 3, 1, 2)), grad),
    )
    return (
        Scenario(
            "a layer that does nothing", (Call(target, ({"none": draw.network(("identity",))}, *plain)),), ("result",)
        ),
        *(replace(scenario, only=only) for scenario in asked),
    )


def _model(draw: Draw, kind: str, c: int = 3, training: bool = True, changes: bool = True) -> Network:
    """A small classifier with a norm inside a block."""
    block = ("block", ("linear", c, 5), (kind, 5))
    return draw.network(block, ("tanh",), ("linear", 5, CLASSES), training=training, changes=changes)


def _half_frozen(draw: Draw, changes: bool = False) -> Network:
    """A model in training mode with a part in evaluation mode, and with gradients of an earlier backward pass."""
    block = ("block", ("linear", 3, 5), ("still", ("batch_norm", 5)))
    return draw.network(block, ("tanh",), ("linear", 5, CLASSES), changes=changes, gradients=not changes)


def _data(draw: Draw, n: int, c: int = 3, dtype: Dtype = "float64") -> tuple[Recipe, Recipe]:
    return draw.tensor(n, c, loc=0.5, scale=1.5, dtype=dtype), draw.indices(n, below=CLASSES)


def _batches(draw: Draw, n: int, *sizes: int) -> tuple[Recipe, ...]:
    """Batches of different rows each: one row twice in a batch has no variance, and batch norm would blow rounding up."""
    return tuple(_rows(draw, n, size) for size in sizes)


def _rows(draw: Draw, n: int, size: int) -> Recipe:
    keys = draw.numbers(0, 1, n)
    rows = sorted(range(n), key=lambda row: keys[row])[:size]
    return Recipe((size,), dtype="int64", values=tuple(map(float, rows)))


def training(draw: Draw) -> tuple[Scenario, ...]:
    """A few updates, of which both the losses and the numbers afterwards are looked at."""
    target = "train_on_batches"
    x, classes = _data(draw, 9)
    words: dict[str, Argument] = {
        "model": _model(draw, "layer_norm"), "x": x, "classes": classes, "batches": _batches(draw, 9, 3, 3), "lr": 0.4,
    }  # fmt: skip
    low, low_classes = _data(draw, 8, dtype="float32")
    with_gradients = replace(_model(draw, "layer_norm"), gradients=True)
    twice = Recipe((4,), dtype="int64", values=(2.0, 0.0, 2.0, 3.0))
    return (
        call("one update", target, _model(draw, "layer_norm"), *_data(draw, 6), _batches(draw, 6, 4), 0.5),
        call("two updates", target, _model(draw, "batch_norm"), *_data(draw, 8), _batches(draw, 8, 4, 4), 0.3),
        call("batches of different sizes", target, _model(draw, "layer_norm"), *_data(draw, 9), _batches(draw, 9, 2, 5, 3), 0.5),
        call(
            "a model in evaluation mode",
            target,
            _model(draw, "batch_norm", training=False),
            *_data(draw, 7),
            _batches(draw, 7, 4, 3),
            0.4,
        ),
        call("batches of one", target, _model(draw, "layer_norm"), *_data(draw, 5), _batches(draw, 5, 1, 1, 1), 0.3),
        call("batches of two, batch norm", target, _model(draw, "batch_norm"), *_data(draw, 6), _batches(draw, 6, 3, 3), 0.05),
        call("no batches", target, _model(draw, "batch_norm"), *_data(draw, 5), (), 0.5),
        call("batches of one, batch norm", target, _model(draw, "batch_norm"), *_data(draw, 5), _batches(draw, 5, 3, 1), 0.3),
        call("arguments by keyword", target, **words),
        # A gradient of earlier belongs to no batch; a row may stand in a batch twice.
        call("gradients that are there already", target, with_gradients, *_data(draw, 6), _batches(draw, 6, 3, 3), 0.3),
        call("batches in a list", target, _model(draw, "batch_norm"), *_data(draw, 8), Listed(_batches(draw, 8, 4, 5)), 0.3),
        call("a row twice in a batch", target, _model(draw, "layer_norm"), *_data(draw, 5), (twice,), 0.3),
        call("float32", target, _model(draw, "batch_norm").in_dtype("float32"), low, low_classes, _batches(draw, 8, 5, 4), 0.3),
    )  # fmt: skip


def training_manners(draw: Draw) -> tuple[Scenario, ...]:
    """Modes come back, tensors stay."""
    target = "train_on_batches"
    only = ("* keeps its mode", "* keeps its hooks", "* is unchanged", "len(result)")
    asked = (
        (kind, training, call("", target, _model(draw, kind, training=training), *_data(draw, 6), _batches(draw, 6, 4, 3), 0.2))
        for kind in ("batch_norm", "layer_norm")
        for training in (False, True)
    )  # fmt: skip
    named = tuple(
        replace(
            scenario,
            name=f"{kind.replace('_', ' ')} in {'training' if training else 'evaluation'} mode",
            only=only,
        )
        for kind, training, scenario in asked
    )
    frozen = (_half_frozen(draw, changes=True), *_data(draw, 6), Listed(_batches(draw, 6, 4)), 0.2)
    return (*named, replace(call("a part that is frozen in evaluation mode", target, *frozen), only=only))


def _judged(draw: Draw, name: str, kind: str, n: int, *size: int, training: bool = True) -> Scenario:
    return call(name, "error_rate", _model(draw, kind, training=training, changes=False), *_data(draw, n), *size)


def error_in_evaluation(draw: Draw) -> tuple[Scenario, ...]:
    """The share of wrong answers with the running statistics."""
    model = _model(draw, "batch_norm", changes=False)
    x, classes = _data(draw, 31)
    words: dict[str, Argument] = {"model": model, "x": x, "classes": classes, "batch_size": None}
    return (
        _judged(draw, "batch norm in training mode", "batch_norm", 40),
        _judged(draw, "batch norm in evaluation mode", "batch_norm", 61, training=False),
        _judged(draw, "layer norm", "layer_norm", 37),
        _judged(draw, "one example", "batch_norm", 1),
        _judged(draw, "more examples", "batch_norm", 90),
        _judged(draw, "many examples", "batch_norm", 150, training=False),
        call("arguments by keyword", "error_rate", **words),
    )


def error_in_batches(draw: Draw) -> tuple[Scenario, ...]:
    """The share of wrong answers with the statistics of each batch; the last one left out if it is smaller."""
    model = _model(draw, "batch_norm", changes=False)
    x, classes = _data(draw, 34)
    words: dict[str, Argument] = {"model": model, "x": x, "classes": classes, "batch_size": 4}
    return (
        _judged(draw, "two batches of three", "batch_norm", 6, 3),
        _judged(draw, "batches of two", "batch_norm", 40, 2),
        _judged(draw, "a smaller batch at the end", "batch_norm", 41, 6),
        _judged(draw, "one left over", "batch_norm", 61, 4, training=False),
        _judged(draw, "one batch of all", "batch_norm", 37, 37),
        _judged(draw, "a large rest", "batch_norm", 79, 40),
        _judged(draw, "layer norm in batches of one", "layer_norm", 23, 1),
        _judged(draw, "batches of one, batch norm", "batch_norm", 5, 1),
        _judged(draw, "many examples", "batch_norm", 121, 5, training=False),
        call("arguments by keyword", "error_rate", **words),
    )


def error_manners(draw: Draw) -> tuple[Scenario, ...]:
    """The model that is measured stays as it was."""
    only = ("* keeps its *", "* is unchanged")
    asked = tuple(
        _judged(draw, f"{word}, in {'training' if training else 'evaluation'} mode", kind, 9, *size, training=training)
        for word, size in (("all at once", ()), ("in batches", (3,)))
        for kind in ("batch_norm",)
        for training in (False, True)
    )
    x = Recipe((2, 2), values=(5.0, -5.0, 5.0, -5.0))
    plain = (draw.network(("identity",)), x, Recipe((2,), dtype="int64", values=(0.0, 0.0)))
    odd = draw.network(("frozen", ("linear", 3, 5)), ("batch_norm", 5), ("linear", 5, CLASSES))
    return (
        Scenario("a model that does nothing", (Call("error_rate", plain),), ("result",)),
        *(replace(scenario, only=only) for scenario in asked),
        replace(_judged(draw, "layer norm, in batches", "layer_norm", 7, 2, training=False), only=only),
        replace(call("a part that is frozen in evaluation mode", "error_rate", _half_frozen(draw), *_data(draw, 6), 3), only=only),
        replace(call("parameters that want no gradient", "error_rate", odd, *_data(draw, 6), 3), only=only),
    )  # fmt: skip


def summary(draw: Draw) -> tuple[Scenario, ...]:
    """Mean and unbiased standard deviation over the seeds."""
    target = "seed_summary"
    return (
        call("two seeds, one size", target, draw.tensor(2, 1, loc=5.0, scale=2.0)),
        call("three seeds", target, draw.tensor(3, 2, loc=(40.0, 5.0), scale=(6.0, 0.5))),
        call("more sizes than seeds", target, draw.tensor(2, 4, loc=(40.0, 9.0, 5.0, 3.0), scale=2.0)),
        call("as many sizes as seeds", target, draw.tensor(4, 4, loc=(40.0, 9.0, 5.0, 3.0), scale=(8.0, 3.0, 1.0, 0.5))),
        call("one seed", target, draw.tensor(1, 3, loc=5.0)),
        call("float32", target, draw.tensor(5, 3, loc=(40.0, 9.0, 3.0), scale=2.0, dtype="float32")),
        call("the argument by keyword", target, values=draw.tensor(6, 2, loc=4.0)),
    )  # fmt: skip
