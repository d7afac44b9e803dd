"""What to ask the functions of lab 5 about modes, running statistics and moving gradients."""

from __future__ import annotations

from autograder.checks.check import Draw
from autograder.trace.network import Layer
from autograder.trace.scenario import Argument, Listed, Recipe, Scenario, in_dtype
from solutions.lab05_normalization_effects.measuring_scenarios import (
    BATCH,
    BLOCKS,
    DEEP,
    HALF_FROZEN,
    IMAGES,
    LAYER,
    MIXED,
    NO_GRADIENT,
    ODD,
    PLAIN,
    STIFF,
    call,
)

# Several batch norms on top of one another: what the lower one does, the upper one sees.
STACKED: tuple[Layer, ...] = (
    ("linear", 3, 4), ("batch_norm", 4, 0.2), ("relu",), ("linear", 4, 5), ("batch_norm", 5), ("tanh",),
    ("linear", 5, 3), ("batch_norm", 3, 0.9),
)  # fmt: skip
# Both kinds of batch norm in one model; momentum 0, which is a number.
BOTH: tuple[Layer, ...] = (
    ("conv", 2, 4, 2), ("batch_norm_2d", 4, 0.4), ("relu",), ("flatten",), ("linear", 16, 5), ("batch_norm", 5), ("tanh",),
    ("linear", 5, 3),
)  # fmt: skip
WITHOUT_GRADIENT: tuple[Layer, ...] = (("frozen", ("linear", 3, 4), ("batch_norm", 4)), ("tanh",), ("linear", 4, 3))


def _data(draw: Draw, n: int, layers: tuple[Layer, ...]) -> tuple[Recipe, Recipe]:
    x = draw.tensor(n, 2, 3, 3, loc=0.4) if layers in (IMAGES, BOTH) else draw.tensor(n, 3, loc=0.4, scale=1.5)
    return x, draw.indices(n, below=3)


def _gap(draw: Draw, name: str, layers: tuple[Layer, ...], n: int, training: bool = True) -> Scenario:
    return call(name, "train_eval_gap", draw.network(*layers, training=training), *_data(draw, n, layers))


def gaps(draw: Draw) -> tuple[Scenario, ...]:
    """Both losses, and the share of changed predictions."""
    return (
        _gap(draw, "batch norm, given in training mode", BATCH, 7),
        _gap(draw, "batch norm, given in evaluation mode", BATCH, 9, training=False),
        _gap(draw, "three batch norms", STACKED, 11),
        _gap(draw, "batch norm of images", IMAGES, 6, training=False),
        _gap(draw, "layer norm: no gap", LAYER, 6),
        _gap(draw, "a part that is in evaluation mode", MIXED, 8),
        _gap(draw, "many examples", BATCH, 40),
        in_dtype(_gap(draw, "float32", STACKED, 8), "float32"),
    )


def gap_manners(draw: Draw) -> tuple[Scenario, ...]:
    """What measuring the gap may not touch."""
    given = _data(draw, 6, BATCH)
    words: dict[str, Argument] = {"x": given[0], "classes": given[1], "model": draw.network(*BLOCKS, training=False)}
    return (
        _gap(draw, "batch norm, training mode", BATCH, 6),
        _gap(draw, "batch norm, evaluation mode", STACKED, 6, training=False),
        _gap(draw, "no norm, training mode", PLAIN, 6),
        call("arguments by keyword", "train_eval_gap", **words),
        call(HALF_FROZEN, "train_eval_gap", draw.network(*MIXED, gradients=True), *_data(draw, 5, MIXED)),
        _gap(draw, NO_GRADIENT, ODD, 5),
        _gap(draw, "images", BOTH, 5),
    )


def _precise(
    draw: Draw,
    name: str,
    layers: tuple[Layer, ...],
    *sizes: int,
    training: bool = True,
    by_word: bool = False,
    kind: type[tuple[Argument, ...]] = tuple,
) -> Scenario:
    batches = kind(
        draw.tensor(n, 2, 3, 3, loc=draw.number(-1, 2))
        if layers in (IMAGES, BOTH)
        else draw.tensor(n, 3, loc=draw.number(-1, 2))
        for n in sizes
    )
    network = draw.network(*layers, training=training, changes=True)
    if by_word:
        return call(name, "reestimate", batches=batches, model=network)
    return call(name, "reestimate", network, batches)


def averages(draw: Draw) -> tuple[Scenario, ...]:
    """The running statistics after a few batches of unequal size."""
    return (
        _precise(draw, "one batch", BATCH, 4),
        _precise(draw, "two batches of unequal size", BATCH, 3, 6),
        _precise(draw, "three batch norms, three batches", STACKED, 5, 3, 4),
        _precise(draw, "given in evaluation mode", STACKED, 4, 3, training=False),
        _precise(draw, "images, two batches", IMAGES, 2, 3),
        _precise(draw, "batches in a list", BATCH, 5, 3, kind=Listed),
        _precise(draw, "both kinds of batch norm", BOTH, 3, 4),
        _precise(draw, "nine batches", BATCH, 3, 4, 5, 3, 4, 5, 3, 4, 6),
        _precise(draw, "a norm in a block", BLOCKS, 4, 3),
        in_dtype(_precise(draw, "float32", BATCH, 6, 4), "float32"),
    )


def precise_manners(draw: Draw) -> tuple[Scenario, ...]:
    """What re-estimation leaves as it was, and the count."""
    return (
        _precise(draw, "batch norm, training mode", BATCH, 4, 3),
        _precise(draw, "batch norm, evaluation mode", STACKED, 3, 5, 4, training=False),
        _precise(draw, "layer norm only", LAYER, 4, 3, kind=Listed),
        _precise(draw, "arguments by keyword", BLOCKS, 4, 5, by_word=True),
        _precise(draw, "a part that is frozen in evaluation mode", MIXED, 4, 3),
        _precise(draw, "momentum 0", STIFF, 4, 3),
        _precise(draw, "parameters that want no gradient", WITHOUT_GRADIENT, 3, 5),
    )


def precise_errors(draw: Draw) -> tuple[Scenario, ...]:
    """No batches, in both modes; one batch is enough."""
    return (
        _precise(draw, "no batches", BATCH),
        _precise(draw, "no batches, evaluation mode", STACKED, training=False),
        _precise(draw, "one batch", BATCH, 4),
    )


def _change(
    draw: Draw, name: str, layers: tuple[Layer, ...], layer: int, training: bool = True, n: int = 6, lr: float = 0.0
) -> Scenario:
    network = draw.network(*layers, training=training)
    return call(name, "gradient_change", network, *_data(draw, n, layers), layer, lr or draw.number(0.2, 0.6))


def gradients_at_layers(draw: Draw) -> tuple[Scenario, ...]:
    """The gradient of a linear layer, and how it turns, in nets of all kinds."""
    return (
        _change(draw, "no norm, the layer in the middle", PLAIN, 1),
        _change(draw, "nothing below: the first layer", PLAIN, 0),
        _change(draw, "batch norm, given in evaluation mode", BATCH, 1, training=False),
        _change(draw, "layer norm, the last layer, a long step", LAYER, 2, n=5, lr=3.0),
        _change(draw, "no norm, the last layer, a long step", PLAIN, 2, lr=2.0),
        in_dtype(_change(draw, "float32", LAYER, 1), "float32"),
    )


def changes(draw: Draw) -> tuple[Scenario, ...]:
    """The gradient of a linear layer before and after a step of what stands before it."""
    return (
        _change(draw, "no norm, the last of three layers", PLAIN, 2),
        _change(draw, "no norm, the layer in the middle", PLAIN, 1),
        _change(draw, "nothing below: the first layer", PLAIN, 0),
        _change(draw, "batch norm, the last layer", BATCH, 2),
        _change(draw, "layer norm, the last layer", LAYER, 2),
        _change(draw, "blocks and no bias", BLOCKS, 2, n=5),
        _change(draw, "layers of equal widths, three levels of blocks", DEEP, 2),
        _change(draw, "a part that is in evaluation mode", MIXED, 1),
        _change(draw, "a convolution first", BOTH, 1, n=4),
        _change(draw, "many examples", BATCH, 1, n=70),
        in_dtype(_change(draw, "float32", LAYER, 1), "float32"),
    )


def change_manners(draw: Draw) -> tuple[Scenario, ...]:
    """What measuring the gradient may not touch."""
    x, classes = _data(draw, 5, PLAIN)
    words: dict[str, Argument] = {"lr": 0.3, "layer": 1, "classes": classes, "x": x, "model": draw.network(*BATCH)}
    return (
        _change(draw, "batch norm, training mode", BATCH, 2),
        _change(draw, "batch norm, evaluation mode", BATCH, 1, training=False),
        _change(draw, "no norm, the last layer", PLAIN, 2),
        call("arguments by keyword", "gradient_change", **words),
        call(HALF_FROZEN, "gradient_change", draw.network(*MIXED, gradients=True), *_data(draw, 5, MIXED), 1, 0.3),
    )
