"""What is asked of BatchNorm1d and BatchNorm2d: one function for each check, the same for both layers.

Each returns scenarios from the smallest to the larger, so that the first that fails is the easiest to read. The comments say which
mistakes a scenario is there for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autograder.checks.check import Draw
from autograder.trace.scenario import (
    Backward,
    Build,
    Forward,
    Freeze,
    Load,
    Mode,
    Recipe,
    Reload,
    Scenario,
    State,
    Step,
    Twin,
)

ODD_AFFINE = Load(
    {"weight": Recipe((3,), values=(0.0, 1.5, -2.0)), "bias": Recipe((3,), values=(1.0, -3.0, 2.0))}, fill=True
)
TRAIN, EVAL = Mode(True), Mode(False)
NOTHING = Scenario("", ())


@dataclass(frozen=True)
class Shapes:
    """How a layer's input of n samples and c channels is shaped; `space` tells the axes behind the channel."""

    space: Callable[[int], tuple[int, ...]]  # a size index 0 to 4 -> the lengths behind (N, C)
    wrong_ranks: tuple[tuple[int, ...], ...]
    layouts: tuple[str, ...]

    def of(self, n: int, c: int, size: int = 1) -> tuple[int, ...]:
        """Return the shape for n samples and c channels; size 0 has one place in space, 1 few, 2 some; 3 is a square, 4 a row."""
        return (n, c, *self.space(size))


ROWS = Shapes(lambda size: (), ((3,), (2, 3, 2, 2), (2, 3, 2, 2, 2)), ("transposed", "strided"))
LENGTHS = Shapes(
    lambda size: ((1,), (3,), (5,), (2,), (4,))[size], ((3,), (2, 3, 2, 2), (2, 3, 2, 2, 2)), ("transposed", "strided")
)
IMAGES = Shapes(
    lambda size: ((1, 1), (2, 1), (2, 3), (3, 3), (1, 4))[size],
    ((3,), (2, 3), (3, 2, 2), (2, 3, 2), (2, 3, 2, 2, 2)),
    ("transposed", "strided", "channels_last"),
)


def _x(draw: Draw, shape: tuple[int, ...], **more: object) -> Recipe:
    """An input whose channels differ in mean and spread, so that mixing them up shows."""
    c = shape[1]
    given = {"loc": draw.numbers(-4, 4, c), "scale": draw.numbers(0.5, 3, c), **more}
    return draw.tensor(*shape, **given)  # type: ignore[arg-type]


def _grad(draw: Draw, shape: tuple[int, ...], **more: object) -> Recipe:
    """An upstream gradient that is neither constant nor orthogonal to anything."""
    return draw.tensor(*shape, loc=0.4, scale=1.5, **more)  # type: ignore[arg-type]


def _build(target: str, c: int, dtype: str | None = "float64", child: bool = False, **kwargs: object) -> Build:
    return Build(target, (c,), kwargs, dtype, child)  # type: ignore[arg-type]


def _affine(draw: Draw, c: int) -> Load:
    return Load({"weight": draw.tensor(c, loc=-1.5), "bias": draw.tensor(c, loc=2.0)}, fill=True)


def _statistics(draw: Draw, c: int) -> Load:
    state = {"running_mean": draw.tensor(c, loc=1.0), "running_var": draw.tensor(c, loc=2.0, positive=True)}
    return Load(state, fill=True)


def _torch_state(draw: Draw, c: int, batches: float = 7.0, tracked: bool = True, affine: bool = True) -> Load:
    """A state dictionary as torch.nn writes it."""
    state = {}
    if affine:
        state |= {"weight": draw.tensor(c, loc=2.0), "bias": draw.tensor(c)}
    if tracked:
        state |= {
            "running_mean": draw.tensor(c, loc=1.0),
            "running_var": draw.tensor(c, loc=2.0, positive=True),
            "num_batches_tracked": Recipe((), dtype="int64", values=(batches,)),
        }
    return Load(state)


def interface(draw: Draw, target: str, shapes: Shapes) -> tuple[Scenario, ...]:
    """Constructor, parameters, buffers, state dictionary; called as a child, so that hooks must fire."""
    fresh = tuple(Scenario(f"{target}({c})", (Build(target, (c,)), State())) for c in (3, 1))
    shape = shapes.of(3, 2)
    return (
        *fresh,
        Scenario(
            "all arguments by keyword",
            (
                _build(target, 2, eps=0.5, momentum=0.3, affine=True, track_running_stats=True),
                State(),
            ),
        ),
        Scenario("a state dictionary of torch.nn", (_build(target, 2), _torch_state(draw, 2), State())),
        Scenario("kinds and shapes after a call", (_build(target, 2), Forward(_x(draw, shape)), Reload(), State())),
        Scenario("moved to float64", (_build(target, 2), State())),
        Scenario("in an nn.Sequential with a hook", (_build(target, 2, child=True), EVAL, Forward(_x(draw, shape)))),
    )


def training(draw: Draw, target: str, shapes: Shapes) -> tuple[Scenario, ...]:
    """Output in training mode."""
    small, one, square = shapes.of(3, 2), shapes.of(5, 1), shapes.of(4, 4, 2)
    eps = draw.number(0.3, 0.8)
    flat = Recipe(shapes.of(3, 2), values=(2.5,) * _size(shapes.of(3, 2)))  # a constant channel: no eps, no answer
    return (
        Scenario("one call", (_build(target, 2), Forward(_x(draw, small)))),
        Scenario("two samples", (_build(target, 3), Forward(_x(draw, shapes.of(2, 3))))),  # n / (n - 1) is 2 here
        Scenario("a large eps", (_build(target, 2, eps=eps), Forward(_x(draw, small)))),
        Scenario("small numbers", (_build(target, 2), Forward(_x(draw, small, scale=0.01, loc=0.02)))),
        Scenario("weight and bias", (_build(target, 2), _affine(draw, 2), Forward(_x(draw, small)))),
        Scenario(
            "weight and bias frozen",
            (_build(target, 2), _affine(draw, 2), Freeze(("weight", "bias")), Forward(_x(draw, small))),
        ),
        Scenario("one channel", (_build(target, 1), _affine(draw, 1), Forward(_x(draw, one)))),
        Scenario("a constant input", (_build(target, 2), Forward(flat))),
        Scenario(
            "an outlier", (_build(target, 1), Forward(_outlier(draw, shapes.of(30 // _size(shapes.of(1, 1)), 1))))
        ),
        Scenario(
            "without gradients, still in training mode",
            (_build(target, 2, eps=eps), TRAIN, Forward(_x(draw, small), grad_enabled=False)),
        ),
        Scenario(
            "x frozen, still in training mode",
            (_build(target, 2, eps=eps), Forward(_x(draw, small), x_requires_grad=False)),
        ),
        Scenario(
            "called twice",
            (
                _build(target, 2, eps=eps),
                Forward(_x(draw, small)),
                Forward(_x(draw, shapes.of(4, 2))),
                Forward(_x(draw, small)),
            ),
        ),
        *_in_space(draw, target, shapes),
        Scenario(
            "everything at once",
            (_build(target, 4, eps=eps, momentum=0.7), _affine(draw, 4), Forward(_x(draw, square))),
        ),
        Scenario(
            "more channels than samples",
            (_build(target, 5), _affine(draw, 5), Forward(_x(draw, shapes.of(2, 5, 2)))),
        ),
        Scenario(
            "training again after evaluation",
            (_build(target, 2, child=True), EVAL, TRAIN, Forward(_x(draw, small))),
        ),
    )


def _outlier(draw: Draw, shape: tuple[int, ...]) -> Recipe:
    """One channel, of which one value lies so far out that it comes out at about the root of their number."""
    return Recipe(shape, values=(*draw.numbers(-1, 1, _size(shape))[:-1], 900.0))


def _in_space(draw: Draw, target: str, shapes: Shapes) -> tuple[Scenario, ...]:
    """What only a layer with places in space can get wrong: one sample, as many rows as columns, one row."""
    if not shapes.space(1):
        return ()
    return (
        Scenario("one sample", (_build(target, 2), Forward(_x(draw, shapes.of(1, 2, 2))))),
        Scenario("square images", (_build(target, 2), Forward(_x(draw, shapes.of(2, 2, 3))))),
        Scenario("images of one row", (_build(target, 2), Forward(_x(draw, shapes.of(2, 2, 4))))),
    )


def running(draw: Draw, target: str, shapes: Shapes) -> tuple[Scenario, ...]:
    """What training leaves behind for evaluation."""
    momentum = draw.number(0.2, 0.45)
    small, few = shapes.of(3, 2), shapes.of(2, 3)

    def calls(c: int, *sizes: int) -> list[Step]:
        return [step for n in sizes for step in (Forward(_x(draw, shapes.of(n, c))), State())]

    length: tuple[Scenario, ...] = ()
    if shapes is ROWS:  # the number of values is N * L
        length = (Scenario("(N, C, L)", (_build(target, 2, momentum=momentum), Forward(_x(draw, (2, 2, 3))), State())),)
    return (
        Scenario("a fresh layer", (_build(target, 2), State())),
        Scenario("one call", (_build(target, 2), Forward(_x(draw, small)), State())),
        Scenario("two samples", (_build(target, 3, momentum=momentum), Forward(_x(draw, few)), State())),
        Scenario("one channel", (_build(target, 1), Forward(_x(draw, shapes.of(4, 1))), State())),
        Scenario("three calls", (_build(target, 2, momentum=momentum), *calls(2, 3, 5, 2))),
        Scenario("a large eps", (_build(target, 2, eps=0.5, momentum=momentum), Forward(_x(draw, small)), State())),
        Scenario(  # whatever is kept is the layer's own
            "beside another layer",
            (
                _build(target, 2, momentum=momentum),
                Forward(_x(draw, small)),
                Twin(_x(draw, shapes.of(4, 2))),
                State(),
                Forward(_x(draw, small)),
                State(),
            ),
        ),
        Scenario(
            "everything frozen",
            (
                _build(target, 2, momentum=momentum),
                Freeze(("weight", "bias")),
                Forward(_x(draw, small), x_requires_grad=False),
                State(),
            ),
        ),
        Scenario("momentum 0", (_build(target, 2, momentum=0.0), *calls(2, 3, 2))),
        Scenario("momentum 1", (_build(target, 2, momentum=1.0), *calls(2, 3, 2))),
        Scenario(
            "without gradients, still in training mode",
            (_build(target, 2), TRAIN, Forward(_x(draw, small), grad_enabled=False), State()),
        ),
        Scenario(
            "going on from a loaded state",
            (_build(target, 2), _torch_state(draw, 2), Forward(_x(draw, small)), State()),
        ),
        Scenario(
            "weight and bias do not matter", (_build(target, 2), _affine(draw, 2), Forward(_x(draw, small)), State())
        ),
        Scenario(
            "two steps with gradients",
            (
                _build(target, 2, momentum=momentum),
                Forward(_x(draw, small), _grad(draw, small)),
                Forward(_x(draw, small), _grad(draw, small)),
                State(),
            ),
        ),
        Scenario(
            "on again after evaluation",
            (
                _build(target, 2, child=True),
                Forward(_x(draw, small)),
                EVAL,
                Forward(_x(draw, small)),
                TRAIN,
                Forward(_x(draw, small)),
                State(),
            ),
        ),
        Scenario(
            "many samples",
            (_build(target, 3, momentum=momentum), Forward(_x(draw, shapes.of(6, 3, 2))), State()),
        ),
        *length,
    )


def evaluation(draw: Draw, target: str, shapes: Shapes) -> tuple[Scenario, ...]:
    """Output in evaluation mode, and that it leaves the statistics alone."""
    small, one = shapes.of(3, 2), shapes.of(1, 2, 0)
    eps = draw.number(0.3, 0.8)
    return (
        Scenario("a fresh layer", (_build(target, 2), EVAL, Forward(_x(draw, small)), State())),
        Scenario(
            "given statistics", (_build(target, 2), _statistics(draw, 2), EVAL, Forward(_x(draw, small)), State())
        ),
        Scenario(
            "one value per channel", (_build(target, 2), _statistics(draw, 2), EVAL, Forward(_x(draw, one)), State())
        ),
        Scenario("one channel", (_build(target, 1), _statistics(draw, 1), EVAL, Forward(_x(draw, shapes.of(4, 1))))),
        Scenario(
            "a large eps",
            (_build(target, 2, eps=eps), _statistics(draw, 2), _affine(draw, 2), EVAL, Forward(_x(draw, small))),
        ),
        Scenario(
            "without gradients",
            (
                _build(target, 2, eps=eps),
                _statistics(draw, 2),
                EVAL,
                Forward(_x(draw, small), grad_enabled=False),
                State(),
            ),
        ),
        Scenario(
            "the mode set by hand",
            (_build(target, 2), _statistics(draw, 2), Mode(False, attribute=True), Forward(_x(draw, small)), State()),
        ),
        Scenario(
            "the mode set on the model around it",
            (_build(target, 2, child=True), _statistics(draw, 2), EVAL, Forward(_x(draw, small)), State()),
        ),
        Scenario(
            "a state dictionary of torch.nn",
            (_build(target, 3), _torch_state(draw, 3), EVAL, Forward(_x(draw, shapes.of(2, 3, 2))), State()),
        ),
        Scenario(
            "twice the same",
            (
                _build(target, 2),
                _statistics(draw, 2),
                EVAL,
                Forward(_x(draw, small)),
                Forward(_x(draw, shapes.of(5, 2))),
                Forward(_x(draw, small)),
                State(),
            ),
        ),
        Scenario(
            "weight and bias frozen",
            (
                _build(target, 2),
                _affine(draw, 2),
                _statistics(draw, 2),
                Freeze(("weight", "bias")),
                EVAL,
                Forward(_x(draw, small)),
            ),
        ),
        Scenario(  # nothing is worked out once and for all
            "weights and statistics changed in between",
            (
                _build(target, 2),
                *(
                    step
                    for _ in range(2)
                    for step in (_affine(draw, 2), _statistics(draw, 2), EVAL, Forward(_x(draw, small)))
                ),
            ),
        ),
        Scenario(  # nor handed out twice
            "calls without gradients, all changed in between",
            (
                _build(target, 2),
                EVAL,
                Forward(_x(draw, small), grad_enabled=False),
                _affine(draw, 2),
                _statistics(draw, 2),
                *(Forward(_x(draw, small), grad_enabled=False) for _ in range(2)),
            ),
        ),
        Scenario(
            "weights of 0, biases that add up to 0",
            (_build(target, 3), _statistics(draw, 3), ODD_AFFINE, EVAL, Forward(_x(draw, shapes.of(2, 3, 2)))),
        ),
        Scenario(
            "beside another layer",
            (
                _build(target, 2, eps=eps),
                _affine(draw, 2),
                _statistics(draw, 2),
                EVAL,
                Twin(_x(draw, shapes.of(4, 2))),
                Forward(_x(draw, small)),
                State(),
            ),
        ),
        # Statistics are given after the training calls: how these update them is another check's business.
        Scenario(
            "after two calls in training mode",
            (
                _build(target, 2),
                _affine(draw, 2),
                Forward(_x(draw, small)),
                Forward(_x(draw, shapes.of(4, 2))),
                _statistics(draw, 2),
                EVAL,
                Forward(_x(draw, small)),
                State(),
            ),
            ("y", "m.running_*"),
        ),
    )


def with_length(draw: Draw, target: str, shapes: Shapes) -> tuple[Scenario, ...]:
    """BatchNorm1d on (N, C, L): statistics over N and L, the same layer."""
    del shapes  # the check is about another shape than the exercise's first one
    eps = draw.number(0.3, 0.8)

    def forward(*shape: int, **more: object) -> Forward:
        return Forward(_x(draw, shape, **more), _grad(draw, shape))

    half = {"momentum": 0.5}  # its direction does not matter here
    return (
        Scenario("a short sequence", (_build(target, 2, **half), forward(2, 2, 3), State())),
        Scenario(
            "as many positions as channels", (_build(target, 3, **half), _affine(draw, 3), forward(2, 3, 3), State())
        ),
        Scenario("one sample", (_build(target, 2, **half), forward(1, 2, 4), State())),  # N = 1 is no obstacle
        Scenario("one position", (_build(target, 2, **half), forward(3, 2, 1), State())),
        Scenario("one channel", (_build(target, 1, **half), forward(3, 1, 2), State())),
        Scenario("all sizes equal", (_build(target, 3, eps=eps, **half), _affine(draw, 3), forward(3, 3, 3), State())),
        Scenario(
            "two calls, then evaluation",
            (
                _build(target, 3, eps=eps, **half),
                _affine(draw, 3),
                forward(2, 3, 4),
                forward(4, 3, 2),
                _statistics(draw, 3),
                EVAL,
                forward(2, 3, 5),
                State(),
            ),
        ),
        Scenario(
            "transposed from (N, L, C)", (_build(target, 3, **half), forward(2, 3, 4, layout="channels_last"), State())
        ),
        Scenario("(N, C), then (N, C, L)", (_build(target, 2, **half), forward(3, 2), forward(2, 2, 3), State())),
        Scenario("affine=False", (_build(target, 2, **half, affine=False), forward(2, 2, 3))),
        Scenario(
            "track_running_stats=False, both modes",
            (_build(target, 2, track_running_stats=False), forward(2, 2, 3), EVAL, forward(3, 2, 2)),
        ),
    )


def options(draw: Draw, target: str, shapes: Shapes) -> tuple[Scenario, ...]:
    """affine, track_running_stats and momentum=None."""
    small, other = shapes.of(3, 2), shapes.of(4, 2)

    def step(shape: tuple[int, ...] = small) -> Forward:
        return Forward(_x(draw, shape), _grad(draw, shape))

    bare = {"affine": False}
    untracked = {"track_running_stats": False}
    none = {"momentum": None}
    # The mean and the count show the cumulative average; the variance has its own check.
    average = ("m.running_mean", "m.num_batches_tracked")
    built = ("y", "m.running_mean", "m.num_batches_tracked", "parameters", "state_dict keys")
    return (
        Scenario("affine=False", (_build(target, 2, **bare), State())),
        Scenario("track_running_stats=False", (_build(target, 2, **untracked), State())),
        Scenario("neither", (_build(target, 2, **bare, **untracked), State())),
        # A number in the wrong place shows in the output (eps) or in the buffers (momentum).
        Scenario(
            "arguments by position", (Build(target, (2, 0.5, 0.3, False, True), {}, "float64"), step(), State()), built
        ),
        Scenario("arguments by keyword", (_build(target, 2, momentum=0.3, eps=0.5), step(), State()), built),
        Scenario(
            "affine=False, training", (_build(target, 2, **bare, momentum=0.5), step(), State()), (*built, "x.grad")
        ),
        Scenario(
            "affine=False, evaluation",
            (_build(target, 2, **bare), _statistics(draw, 2), EVAL, step(), State()),
            (*built, "x.grad"),
        ),
        Scenario(
            "track_running_stats=False, both modes",
            (_build(target, 2, **untracked), _affine(draw, 2), step(), EVAL, step(other), TRAIN, step(), State()),
        ),
        Scenario("neither, both modes", (_build(target, 2, **bare, **untracked), step(), EVAL, step(other), State())),
        Scenario(
            "momentum=None",
            (_build(target, 2, **none), step(), State(), step(other), State(), step(), State()),
            average,
        ),
        Scenario(
            "momentum=None from a loaded state",
            (_build(target, 2, **none), _torch_state(draw, 2, batches=4.0), step(), State()),
            average,
        ),
        Scenario(
            "momentum=None in a fresh copy",
            (_build(target, 2, **none), step(), step(other), Reload(), step(), State()),
            average,
        ),
        Scenario(
            "affine=False, state of torch.nn",
            (_build(target, 2, **bare), _torch_state(draw, 2, affine=False), EVAL, step(), State()),
            ("y", *built),
        ),
        Scenario(
            "track_running_stats=False, state of torch.nn",
            (_build(target, 2, **untracked), _torch_state(draw, 2, tracked=False), EVAL, step(), State()),
        ),
    )


def errors(draw: Draw, target: str, shapes: Shapes) -> tuple[Scenario, ...]:
    """ValueError where the contract wants one, and none where a number of samples only looks too small."""
    one = shapes.of(1, 2, 0)
    untracked = {"track_running_stats": False}

    def refused(
        name: str, shape: tuple[int, ...], c: int = 2, *before: Step, gradients: bool = True, **kwargs: object
    ) -> Scenario:
        x = draw.tensor(*shape, loc=1.0)
        return Scenario(name, (_build(target, c, **kwargs), *before, Forward(x, grad_enabled=gradients)))

    wrong_ranks = list(shapes.wrong_ranks)
    found = [
        refused("one value per channel, training", one),
        refused("one value per channel, not tracked, training", one, 2, **untracked),
        refused("one value per channel, not tracked, evaluation", one, 2, EVAL, **untracked),
        refused("one value per channel, affine=False", one, 2, affine=False),
        refused("one value per channel, one channel", shapes.of(1, 1, 0), 1),
        refused("one too many channels", shapes.of(3, 4), 3),
        refused("one too few channels", shapes.of(3, 2), 3),
        refused("one channel where three are needed", shapes.of(3, 1), 3),  # would broadcast
        refused("three channels where one is needed", shapes.of(3, 3), 1),  # would broadcast
        refused("wrong channels, evaluation", shapes.of(3, 2), 3, EVAL),
        refused("one channel, evaluation", shapes.of(3, 1), 3, EVAL),
        refused("one channel, evaluation, without gradients", shapes.of(3, 1), 3, EVAL, gradients=False),
        refused("wrong channels, affine=False", shapes.of(3, 2), 3, affine=False),
        refused("wrong channels, nothing kept", shapes.of(3, 2), 3, affine=False, **untracked),
        refused("wrong channels, affine=False, evaluation", shapes.of(3, 1), 3, EVAL, affine=False),
        refused("wrong channels, nothing kept, evaluation", shapes.of(3, 1), 3, EVAL, affine=False, **untracked),
        refused("a single number without axes", (), 3),
        *(refused(f"x of shape {shape}", shape, 3) for shape in wrong_ranks),
        *(refused(f"x of shape {shape}, evaluation", shape, 3, EVAL) for shape in wrong_ranks),
        refused(f"x of shape {wrong_ranks[-1]}, not tracked, evaluation", wrong_ranks[-1], 3, EVAL, **untracked),
        *(refused(f"x of shape {shape}, nothing kept", shape, 3, affine=False, **untracked) for shape in wrong_ranks),
    ]
    if len(shapes.of(1, 2)) > 2:  # one sample, several places: enough values
        found.append(refused("one sample, two places", shapes.of(1, 2)))
        found.append(refused("one sample, several places", shapes.of(1, 2, 2)))
    else:
        found.append(refused("one value per channel, (N, C, L)", (1, 2, 1)))
        found.append(refused("one value per channel, (N, C, L), not tracked", (1, 2, 1), 2, EVAL, **untracked))
        found.append(refused("one sample, several places", (1, 2, 3)))
        found.append(refused("wrong channels, (N, C, L)", (2, 4, 3), 3))
        found.append(refused("(N, L, C) instead of (N, C, L)", (2, 5, 3), 3))
    return tuple(found)


def gradients(draw: Draw, target: str, shapes: Shapes) -> tuple[Scenario, ...]:
    """Through autograd, in both modes, with any of x, weight and bias frozen."""
    small, other = shapes.of(3, 2), shapes.of(5, 3, 2)
    eps = draw.number(0.3, 0.8)

    def step(shape: tuple[int, ...] = small, **more: object) -> Forward:
        return Forward(_x(draw, shape), _grad(draw, shape), **more)  # type: ignore[arg-type]

    affine = _affine(draw, 2)
    flat = Recipe(small, values=(2.5,) * _size(small))  # the root of a variance of 0 has no slope
    start = (_build(target, 2, eps=eps), affine)
    frozen = [
        ("x", (), False),
        ("weight", ("weight",), True),
        ("bias", ("bias",), True),
        ("weight and bias", ("weight", "bias"), True),
        ("x and weight", ("weight",), False),
        ("x and bias", ("bias",), False),
    ]
    return (
        Scenario("training", (_build(target, 2), step())),
        Scenario("weight and bias", (*start, step())),
        Scenario("two samples", (_build(target, 2), affine, step(shapes.of(2, 2)))),
        Scenario("evaluation", (_build(target, 2, eps=eps), affine, _statistics(draw, 2), EVAL, step())),
        *(Scenario(f"{who} frozen", (*start, Freeze(names), step(x_requires_grad=x))) for who, names, x in frozen),
        *(
            Scenario(
                f"{who} frozen, evaluation",
                (*start, _statistics(draw, 2), Freeze(names), EVAL, step(x_requires_grad=x)),
            )
            for who, names, x in frozen[:4]
        ),
        Scenario("two steps", (*start, step(), step())),
        Scenario("affine=False", (_build(target, 2, eps=eps, affine=False), step())),
        Scenario(
            "not tracked, evaluation", (_build(target, 2, eps=eps, track_running_stats=False), affine, EVAL, step())
        ),
        Scenario(
            "an evaluation between forward and backward",
            (
                *start,
                Forward(_x(draw, small), later=True),
                EVAL,
                Forward(_x(draw, shapes.of(4, 2)), grad_enabled=False),
                Backward(_grad(draw, small)),
            ),
        ),
        Scenario(
            "an evaluation of the same shape between them",
            (
                *start,
                Forward(_x(draw, small), later=True),
                EVAL,
                Forward(_x(draw, small)),
                Backward(_grad(draw, small)),
            ),
        ),
        Scenario(
            "a large gradient arrives", (*start, Forward(_x(draw, small), draw.tensor(*small, loc=50.0, scale=300.0)))
        ),
        Scenario("a constant input", (_build(target, 2), affine, Forward(flat, _grad(draw, small)))),
        Scenario("more samples", (_build(target, 3, eps=eps), _affine(draw, 3), step(other))),
        Scenario(
            "small numbers", (_build(target, 2), affine, Forward(_x(draw, small, scale=0.02), _grad(draw, small)))
        ),
    )


def numerics(draw: Draw, target: str, shapes: Shapes) -> tuple[Scenario, ...]:
    """float32, memory layouts, a mean of 100 standard deviations, copies; x must stay as it was."""
    small, rows = shapes.of(3, 2), shapes.of(8, 6, 2)

    def step(shape: tuple[int, ...] = small, grad: bool = True, **more: object) -> Forward:
        dtype = more.get("dtype", "float64")
        layout = more.get("layout", "contiguous")  # of the gradient that arrives, too
        return Forward(_x(draw, shape, **more), _grad(draw, shape, dtype=dtype, layout=layout) if grad else None)

    single = {"dtype": "float32"}
    return (
        Scenario("float32", (_build(target, 2, None), step(**single), State())),
        Scenario(
            "float32, evaluation",
            (_build(target, 2, None), step(**single), _statistics(draw, 2), EVAL, step(**single), State()),
        ),
        Scenario("float64", (_build(target, 2), step(), State(), _statistics(draw, 2), EVAL, step())),
        *(
            Scenario(f"{layout} input", (_build(target, 3), step(shapes.of(4, 3, 2), layout=layout), State()))
            for layout in shapes.layouts
        ),
        *(
            Scenario(
                f"{layout} input, evaluation",
                (_build(target, 3), _statistics(draw, 3), EVAL, step(shapes.of(4, 3, 2), layout=layout)),
            )
            for layout in shapes.layouts
        ),
        Scenario(
            "a mean of 100 standard deviations",
            (_build(target, 6, None), step(rows, loc=100.0, scale=1.0, **single), State()),
        ),
        Scenario(
            "a mean of 100 standard deviations, without gradients",
            (_build(target, 6, None), Forward(_x(draw, rows, loc=100.0, scale=1.0, **single), grad_enabled=False)),
        ),
        # A call without gradients before the copy: what a layer keeps for itself may then be copied, too.
        Scenario(
            "a deep copy after a call",
            (_build(target, 2), Forward(_x(draw, small), grad_enabled=False), Reload(copy=True), step(), State()),
        ),
        Scenario("x without gradients", (_build(target, 2), Forward(_x(draw, small), grad_enabled=False), EVAL)),
        Scenario(
            "x without gradients, evaluation", (_build(target, 2), EVAL, Forward(_x(draw, small), grad_enabled=False))
        ),
        Scenario("large numbers", (_build(target, 2, None), step(scale=3000.0, loc=0.0, **single), State())),
    )


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size
