"""What to ask the measuring functions of lab 5: models and data that nobody has seen, drawn from a seed.

The models are small and odd on purpose: layers of unequal width, norms in both modes, blocks, convolutions, linear layers without
bias. Batches are given as places, so nothing is drawn by the code under test, and they hold no place twice.
"""

from __future__ import annotations

import random

from autograder.checks.check import Draw
from autograder.trace.network import Layer, Maker
from autograder.trace.scenario import Argument, Call, Listed, Recipe, Scenario, Sizes, in_dtype

PLAIN: tuple[Layer, ...] = (("linear", 3, 5), ("relu",), ("linear", 5, 4), ("tanh",), ("linear", 4, 3))
BATCH: tuple[Layer, ...] = (
    ("linear", 3, 5), ("batch_norm", 5), ("relu",), ("linear", 5, 4), ("batch_norm", 4, 0.3), ("tanh",), ("linear", 4, 3),
)  # fmt: skip
LAYER: tuple[Layer, ...] = (
    ("linear", 3, 6), ("layer_norm", 6), ("relu",), ("linear", 6, 4), ("layer_norm", 4), ("tanh",), ("linear", 4, 3),
)  # fmt: skip
BLOCKS: tuple[Layer, ...] = (
    ("block", ("linear", 3, 4), ("batch_norm", 4), ("tanh",)),
    ("block", ("linear", 4, 6, False), ("block", ("group_norm", 2, 6), ("relu",)), ("linear", 6, 2)),
    ("linear", 2, 3),
)
IMAGES: tuple[Layer, ...] = (
    ("conv", 2, 4, 2), ("batch_norm_2d", 4, 0.4), ("relu",), ("flatten",), ("linear", 16, 5), ("rms_norm", 5), ("relu",),
    ("linear", 5, 3),
)  # fmt: skip
# A part that stays in evaluation mode: one flag for the whole model does not describe it.
MIXED: tuple[Layer, ...] = (("block", ("linear", 3, 4), ("still", ("batch_norm", 4))), ("tanh",), ("linear", 4, 3))
# Parameters that want no gradient: who sets all to want one has not put them back.
ODD: tuple[Layer, ...] = (("frozen", ("linear", 3, 4)), ("batch_norm", 4), ("tanh",), ("linear", 4, 3))
NO_GRADIENT = "parameters that want no gradient"
HALF_FROZEN = "a part that is frozen in evaluation mode, gradients that are there"
# Three levels of blocks; equal widths, so that a layer is not known by its shape; momentum 0, which is a number.
DEEP: tuple[Layer, ...] = (
    ("block", ("block", ("block", ("linear", 3, 4), ("tanh",)), ("linear", 4, 4)), ("relu",)), ("linear", 4, 4), ("tanh",),
    ("linear", 4, 3),
)  # fmt: skip
STIFF: tuple[Layer, ...] = (("linear", 3, 4), ("batch_norm", 4, 0.0), ("relu",), ("linear", 4, 3))
NOTHING_BELOW: tuple[Layer, ...] = (("linear", 3, 3),)


def call(name: str, target: str, *args: Argument, **kwargs: Argument) -> Scenario:
    """Return the scenario of one call."""
    return Scenario(name, (Call(target, args, kwargs),))


def places(draw: Draw, *sizes: int, below: int) -> tuple[Recipe, ...]:
    """Return batches of the given sizes as places in the data, none twice in a batch: twins have no variance."""
    shuffled = random.Random(str(draw.number(0, 1e9)))
    return tuple(
        Recipe((size,), dtype="int64", values=tuple(map(float, shuffled.sample(range(below), size)))) for size in sizes
    )


def units(draw: Draw) -> tuple[Scenario, ...]:
    """The statistics of an output as it is, of two or three axes."""
    shapes = ((4, 3), (3, 4), (2, 3, 4), (5, 1), (2, 2))
    return (
        *(
            call(
                f"an output of shape {shape}", "unit_statistics", draw.tensor(*shape, loc=draw.number(1, 3), scale=2.0)
            )
            for shape in shapes
        ),
        call("float32, a large mean", "unit_statistics", draw.tensor(6, 3, loc=1e3, dtype="float32")),
    )


def gradients(draw: Draw) -> tuple[Scenario, ...]:
    """The gradients of a loss, in both modes."""
    asked = (("no norm", PLAIN, True), ("layer norm", LAYER, True), ("batch norm, evaluation mode", BATCH, False))
    return tuple(
        call(name, "loss_gradients", draw.network(*layers, training=training), *_data(draw, 6))
        for name, layers, training in asked
    )


def _data(draw: Draw, n: int, layers: tuple[Layer, ...] = PLAIN) -> tuple[Recipe, Recipe]:
    x = draw.tensor(n, 2, 3, 3, loc=0.4) if layers is IMAGES else draw.tensor(n, 3, loc=0.4, scale=1.5)
    return x, draw.indices(n, below=3)


STATISTICS = "preactivation_statistics"


def values(draw: Draw) -> tuple[Scenario, ...]:
    """Means and standard deviations of nets without norm: few examples, an offset, tokens, float32."""
    few = draw.network(("linear", 2, 3), ("relu",), ("linear", 3, 2, False))
    return (
        call("two linear layers, 3 examples", STATISTICS, few, draw.tensor(3, 2, loc=1.0, scale=2.0)),
        call("three linear layers, 4 examples", STATISTICS, draw.network(*PLAIN), draw.tensor(4, 3, loc=-0.5)),
        call("inputs of shape (2, 3, 3)", STATISTICS, draw.network(*PLAIN), draw.tensor(2, 3, 3, loc=0.7)),
        call("inputs of shape (3, 3, 3)", STATISTICS, draw.network(*PLAIN), draw.tensor(3, 3, 3, loc=0.7)),
        call("two linear layers in a row", STATISTICS, draw.network(("linear", 3, 2), ("linear", 2, 4)), draw.tensor(5, 3)),
        in_dtype(call("float32", STATISTICS, draw.network(*PLAIN), draw.tensor(6, 3, loc=2.0)), "float32"),
        in_dtype(call("float32, a large mean", STATISTICS, draw.network(("linear", 3, 4)), draw.tensor(7, 3, loc=1e3)), "float32"),
    )  # fmt: skip


def points(draw: Draw) -> tuple[Scenario, ...]:
    """The right points of nets with norms: linear layers in order, nested ones too, in the mode that the net is in."""
    asked = (
        ("batch norm, training mode", BATCH, True),
        ("batch norm, evaluation mode", BATCH, False),
        ("layer norm", LAYER, True),
        ("nested blocks", BLOCKS, False),
        ("a convolution first", IMAGES, True),
        ("three levels of blocks", DEEP, True),
        ("a part that is in evaluation mode", MIXED, True),
    )
    return (
        *(
            call(name, STATISTICS, draw.network(*layers, training=training), _data(draw, 5, layers)[0])
            for name, layers, training in asked
        ),
        call("a large batch", STATISTICS, draw.network(*BATCH), _data(draw, 70)[0]),
    )


def statistics_manners(draw: Draw) -> tuple[Scenario, ...]:
    """What measuring may not touch, for nets in both modes."""
    return (
        call("batch norm, training mode", STATISTICS, draw.network(*BATCH), draw.tensor(4, 3)),
        call("batch norm, evaluation mode", STATISTICS, draw.network(*BATCH, training=False), draw.tensor(4, 3)),
        call("no norm, evaluation mode", STATISTICS, draw.network(*PLAIN, training=False), draw.tensor(4, 3)),
        call("model and x by keyword", STATISTICS, model=draw.network(*BLOCKS), x=draw.tensor(4, 3)),
        call(HALF_FROZEN, STATISTICS, draw.network(*MIXED, gradients=True), draw.tensor(4, 3)),
        call(NO_GRADIENT, STATISTICS, draw.network(*ODD), draw.tensor(4, 3)),
    )


TWICE = tuple(Recipe((len(given),), dtype="int64", values=given) for given in ((4.0,), (2.0, 7.0, 2.0)))


def _training(
    draw: Draw,
    name: str,
    layers: tuple[Layer, ...],
    *sizes: int,
    training: bool = True,
    gradients: bool = False,
    batches: type[tuple[Argument, ...]] = tuple,
    order: tuple[Recipe, ...] = (),
) -> Scenario:
    network = draw.network(*layers, training=training, changes=True, gradients=gradients)
    x, classes = _data(draw, 9)
    probe = draw.tensor(5, 3, loc=-0.3, scale=1.2)
    order = order or places(draw, *sizes, below=9)
    return call(name, "track_training", network, x, classes, batches(order), draw.number(0.1, 0.3), probe)


def histories(draw: Draw) -> tuple[Scenario, ...]:
    """What the probe shows before the first update and after each."""
    return (
        _training(draw, "no norm, one update", PLAIN, 4),
        _training(draw, "no norm, three updates of unequal size", PLAIN, 5, 2, 7),
        _training(draw, "layer norm, two updates", LAYER, 4, 3),
        _training(draw, "batch norm, two updates", BATCH, 6, 5),
        _training(draw, "batch norm, given in evaluation mode", BATCH, 5, 6, training=False),
        _training(draw, "no update at all", BLOCKS),
        _training(draw, "batches in a list", LAYER, 4, 6, batches=Listed),
        _training(draw, "a part that is given in evaluation mode", MIXED, 5, 6),
        _training(draw, "momentum 0", STIFF, 5, 4),
        in_dtype(_training(draw, "float32", LAYER, 5, 4), "float32"),
    )


def trained_models(draw: Draw) -> tuple[Scenario, ...]:
    """What the weights are after the updates."""
    return (
        _training(draw, "no norm, one update", PLAIN, 3),
        _training(draw, "no norm, three updates", PLAIN, 5, 4, 2),
        _training(draw, "layer norm, two updates", LAYER, 6, 4),
        _training(draw, "blocks, given in evaluation mode", BLOCKS, 6, 5, training=False),
        _training(draw, "gradients that are there already", LAYER, 4, 5, gradients=True),
        _training(draw, "a batch of one, a place twice in a batch", LAYER, 1, 3, order=TWICE),
        _training(draw, "momentum 0", STIFF, 5, 4),
    )


def trained_running(draw: Draw) -> tuple[Scenario, ...]:
    """What the running statistics and the modes are after the updates."""
    return (
        _training(draw, "batch norm, one update", BATCH, 5),
        _training(draw, "batch norm, three updates, batches in a list", BATCH, 5, 6, 4, batches=Listed),
        _training(draw, "batch norm, given in evaluation mode", BATCH, 6, 5, training=False),
        _training(draw, "a part that is frozen in evaluation mode", MIXED, 5, 6),
        _training(draw, "momentum 0", STIFF, 5, 4),
    )


def _history(draw: Draw, times: int, *widths: int, scale: float = 1.0) -> tuple[Argument, ...]:
    def pair(width: int) -> tuple[Argument, ...]:
        mean = draw.tensor(times, width, loc=draw.number(-2, 2), scale=1.5)
        # A floor under every standard deviation: log and division stay far from 0.
        return mean, draw.tensor(times, width, loc=scale * draw.number(2.5, 4), scale=0.5 * scale, positive=True)

    return tuple(map(pair, widths))


def steps(draw: Draw) -> tuple[Scenario, ...]:
    """From one update to the next."""
    asked = ((2, (3,)), (3, (4, 2)), (5, (2, 3, 4)), (2, (1, 5)))
    return (
        *(
            call(f"{times} times, layers of {widths} units", "drift", _history(draw, times, *widths))
            for times, widths in asked
        ),
        call("a list of pairs", "drift", Listed(_history(draw, 3, 2, 3))),
        call("tiny deviations", "drift", _history(draw, 3, 2, scale=1e-6)),
    )


def lags(draw: Draw) -> tuple[Scenario, ...]:
    """Over several updates; and what has no two times."""
    given = _history(draw, 5, 3, 2)
    return (
        call("5 times, lag 2", "drift", given, 2),
        call("5 times, lag 4", "drift", _history(draw, 5, 2, 4), 4),
        call("arguments by keyword, lag 3", "drift", history=_history(draw, 6, 2, 3), lag=3),
        call("a single time", "drift", _history(draw, 1, 3, 2)),
        call("a lag as long as the history", "drift", given, 5),
        call("lag 0", "drift", given, 0),
        call("lag -1", "drift", given, -1),
        call("lag -9", "drift", given, -9),
    )


def makers(draw: Draw) -> tuple[Scenario, ...]:
    """Nets of several kinds, matched by their linear layers though not by their places in the list."""
    three = (("linear", 3, 5), ("batch_norm", 5), ("relu",), ("linear", 5, 4), ("tanh",), ("linear", 4, 3))
    two = (("linear", 3, 4), ("relu",), ("linear", 4, 3))
    normed = (("linear", 3, 4), ("layer_norm", 4), ("relu",), ("linear", 4, 3))
    unbiased = (("linear", 3, 4, False), ("tanh",), ("linear", 4, 3))
    return (
        _comparison(draw, "two kinds, two seeds", {"plain": two, "layer": normed}, (0, 1), 4, 3),
        _comparison(draw, "three seeds", {"batch": three}, (7, 2, 5), 5, 6),
        _comparison(draw, "a list of seeds", {"plain": two}, Sizes("list", (4, 1)), 4, 5),
        _comparison(draw, "given in evaluation mode", {"Batch": three}, (2, 3), 4, 5, training=False),
        _comparison(draw, "a layer without a bias", {"plain": two, "none": unbiased}, (0, 4), 4),
        in_dtype(_comparison(draw, "float32", {"plain": two, "Layer": normed}, (0, 1), 4, 3), "float32"),
        _comparison(
            draw, "a range of seeds, batches in a list", {"layer": normed}, Sizes("range", (2, 5)), 4, 3, batches=Listed
        ),
    )


def mismatches(draw: Draw) -> tuple[Scenario, ...]:
    """What can't be compared, and what can."""
    two = (("linear", 3, 4), ("relu",), ("linear", 4, 3))
    normed = (("block", ("linear", 3, 4), ("layer_norm", 4)), ("relu",), ("linear", 4, 3))
    wider = (("linear", 3, 5), ("layer_norm", 5), ("relu",), ("linear", 5, 3))
    deeper = (*two[:2], ("linear", 4, 4), ("relu",), ("linear", 4, 3))
    swapped = (("linear", 3, 6), ("relu",), ("linear", 6, 4), ("tanh",), ("linear", 4, 3))
    crossed = (("linear", 3, 4), ("relu",), ("linear", 4, 6), ("tanh",), ("linear", 6, 3))
    return (
        _comparison(draw, "matched, nested on one side", {"plain": two, "layer": normed}, (0, 1), 4),
        _comparison(draw, "another number of linear layers", {"plain": two, "deeper": deeper}, (0, 1), 4),
        _comparison(draw, "one linear layer more at the end", {"a": two, "b": (*two, ("linear", 3, 3))}, (0, 1), 4),
        _comparison(draw, "another number of units", {"plain": two, "wider": wider}, (0, 1), 4),
        _comparison(draw, "the same units in another order", {"a": swapped, "b": crossed}, (0, 1), 4),
        _comparison(draw, "the third kind does not match", {"a": two, "b": normed, "c": wider}, (0, 1), 4),
        _comparison(draw, "the second of three kinds does not match", {"a": two, "b": wider, "c": normed}, (0, 1), 4),
        _comparison(draw, "another number of outputs", {"plain": two, "more": (*two[:2], ("linear", 4, 5))}, (0, 1), 4),
        _comparison(draw, "one seed", {"plain": two, "layer": normed}, (3,), 4),
    )


def _comparison(
    draw: Draw,
    name: str,
    kinds: dict[str, tuple[Layer, ...]],
    seeds: tuple[int, ...] | Sizes,
    *sizes: int,
    batches: type[tuple[Argument, ...]] = tuple,
    training: bool = True,
) -> Scenario:
    given: dict[str, Argument] = {
        kind: Maker(draw.network(*layers, training=training)) for kind, layers in kinds.items()
    }
    x, classes = _data(draw, 8)
    order = batches(places(draw, *sizes, below=8))
    return call(name, "compare", given, seeds, x, classes, order, draw.number(0.1, 0.3), draw.tensor(5, 3, scale=1.2))
