"""What is asked of BatchRenorm1d: one function for each check, its scenarios from the smallest to the larger.

The comments say which mistakes a scenario is there for. Limits are wide wherever clipping is not the question, so that a fault in
the clipping costs the check on clipping and no other.
"""

from __future__ import annotations

from autograder.checks.check import Draw
from autograder.trace.scenario import (
    Backward,
    Build,
    Forward,
    Freeze,
    Load,
    Put,
    Recipe,
    Reload,
    Scenario,
    State,
    Step,
    Twin,
)
from solutions.lab06_beyond.drawing import (
    EVAL,
    TRAIN,
    WIDE,
    affine,
    batch,
    grad_of,
    numbers,
    renorm,
    running,
    size_of,
    x_of,
)

SMALL = (3, 2)


def interface(draw: Draw) -> tuple[Scenario, ...]:
    """Constructor, parameters, buffers, state dictionary; called as a child, so that hooks must fire."""
    state = Load(
        {
            "weight": draw.tensor(2, loc=2.0),
            "bias": draw.tensor(2),
            "running_mean": draw.tensor(2, loc=1.0),
            "running_std": numbers(*draw.numbers(1.2, 3, 2)),
        }
    )
    words = {"num_features": 2, "eps": 0.5, "momentum": 0.3, "r_max": 2.0, "d_max": 1.0}
    return (
        *(Scenario(f"BatchRenorm1d({c})", (Build("BatchRenorm1d", (c,)), State())) for c in (3, 1)),
        Scenario("all arguments by keyword", (Build("BatchRenorm1d", (), words, "float64"), State())),
        Scenario("a state dictionary", (renorm(2), state, State())),
        Scenario("kinds and shapes after a call", (renorm(2), Forward(x_of(draw, SMALL)), Reload(), State())),
        Scenario("kinds and shapes after (N, C, L)", (renorm(2), Forward(x_of(draw, (2, 2, 3))), Reload(), State())),
        Scenario("moved to float64", (renorm(2), State())),
        Scenario("in an nn.Sequential with a hook", (renorm(2, child=True), EVAL, Forward(x_of(draw, SMALL)))),
    )


def _near(draw: Draw, n: int, c: int) -> Recipe:
    """A batch that a fresh layer does not clip."""
    return batch(draw, n, draw.numbers(-1.5, 1.5, c), draw.numbers(0.6, 1.5, c))


def training(draw: Draw) -> tuple[Scenario, ...]:
    """Output in training mode where nothing, or everything, is clipped."""
    eps = draw.number(0.3, 0.8)
    flat = Recipe(SMALL, values=(2.5,) * size_of(SMALL))  # sigma = sqrt(eps), r far below 1 / r_max

    def given(c: int = 2, **kwargs: object) -> tuple[Step, ...]:
        return (renorm(c, **{**WIDE, **kwargs}), running(draw, c))

    return (
        Scenario("a fresh layer", (renorm(2), Forward(_near(draw, 3, 2)))),
        Scenario("given running values", (*given(), Forward(x_of(draw, SMALL)))),
        Scenario("two samples", (*given(3), Forward(x_of(draw, (2, 3))))),  # n / (n - 1) is 2 here
        Scenario("one channel", (*given(1), affine(draw, 1), Forward(x_of(draw, (5, 1))))),
        Scenario("r_max = 1, d_max = 0: batch norm", (renorm(2, r_max=1.0, d_max=0.0), Forward(x_of(draw, SMALL)))),
        Scenario(
            "r_max = 1, d_max = 0, a large eps",
            (renorm(2, eps=eps, r_max=1.0, d_max=0.0), running(draw, 2), affine(draw, 2), Forward(x_of(draw, SMALL))),
        ),
        Scenario(
            "eps=0, small numbers",
            (renorm(2, eps=0.0, r_max=1.0, d_max=0.0), Forward(batch(draw, 4, (1e-3, -2e-3), (1e-3, 3e-3)))),
        ),
        # r undoes sigma, so that eps hides in the unclipped output; a small r_max shows it.
        Scenario("a large eps", (renorm(2, eps=eps, r_max=1.05, d_max=60.0), running(draw, 2), Forward(_near(draw, 3, 2)))),
        Scenario("small numbers", (renorm(2, d_max=60.0), Forward(x_of(draw, SMALL, scale=0.01, loc=0.02)))),
        Scenario("a constant input", (renorm(2), Forward(flat))),
        Scenario("weight and bias", (*given(), affine(draw, 2), Forward(x_of(draw, SMALL)))),
        Scenario(
            "weight and bias frozen",
            (*given(), affine(draw, 2), Freeze(("weight", "bias")), Forward(x_of(draw, SMALL))),
        ),
        Scenario(
            "without gradients, still in training mode",
            (renorm(2, r_max=1.0, d_max=0.0), running(draw, 2), TRAIN, Forward(x_of(draw, SMALL), grad_enabled=False)),
        ),
        Scenario(
            "x frozen, still in training mode",
            (renorm(2, r_max=1.0, d_max=0.0), running(draw, 2), Forward(x_of(draw, SMALL), x_requires_grad=False)),
        ),
        # Values of before the call: a large momentum makes those of after it very different. Numbers are given in between, since
        # how they are updated is another check's business.
        Scenario("momentum 0.9", (*given(momentum=0.9), Forward(x_of(draw, SMALL)))),
        Scenario(
            "called twice",
            (*given(momentum=0.5), Forward(x_of(draw, SMALL)), running(draw, 2), Forward(x_of(draw, (4, 2)))),
        ),
        Scenario("more channels than samples", (*given(5), affine(draw, 5), Forward(x_of(draw, (2, 5))))),
        Scenario(
            "everything at once",
            (renorm(4, eps=eps, momentum=0.7, r_max=1.6, d_max=0.8), running(draw, 4), affine(draw, 4),
             Forward(x_of(draw, (6, 4)))),
        ),
        Scenario(
            "training again after evaluation",
            (renorm(2, child=True, **WIDE), running(draw, 2), EVAL, TRAIN, Forward(x_of(draw, SMALL))),
        ),
    )  # fmt: skip


def clipping(draw: Draw) -> tuple[Scenario, ...]:
    """Which r and d are clipped, where, and by which limits; channel by channel, each side."""

    def one(name: str, *targets: tuple[float, float], n: int = 3, **limits: object) -> Scenario:
        """Channels whose r and d are near the targets: x is drawn to suit running values that are given."""
        c = len(targets)
        mean, std = draw.numbers(-1, 1, c), draw.numbers(0.8, 2.0, c)
        scale = tuple(r * s for (r, _), s in zip(targets, std, strict=True))
        loc = tuple(m + d * s for (_, d), m, s in zip(targets, mean, std, strict=True))
        state = Load({"running_mean": numbers(*mean), "running_std": numbers(*std)}, fill=True)
        return Scenario(name, (renorm(c, **limits), state, Forward(batch(draw, n, loc, scale))))

    return (
        one("a spread far above the running one", (8.0, 0.2)),
        one("a spread far below the running one", (0.08, 0.3)),
        one("a spread a little below the running one", (0.35, 0.1), r_max=6.0),  # r < 1 is not clipped to 1
        one("a mean far above the running one", (0.9, 9.0)),
        one("a mean far below the running one", (0.9, -9.0)),
        one("a mean a little above the running one", (0.8, 1.4)),
        one("a mean a little below the running one", (0.8, -1.4)),
        one("nothing to clip", (0.8, 0.4), (0.7, -0.7)),
        one("limits of its own", (4.0, 0.9), (0.3, -0.9), r_max=1.5, d_max=0.4),
        one("r_max = 8, d_max = 2", (4.0, 3.5), (0.1, -3.5), r_max=8.0, d_max=2.0),
        one("r_max = 2, d_max = 9", (5.0, 7.0), (0.1, -7.0), r_max=2.0, d_max=9.0),
        one("r_max = 1: only d is corrected", (2.0, 1.0), (0.5, -1.0), r_max=1.0),
        one("d_max = 0: only r is corrected", (1.4, 1.0), (0.6, -1.0), d_max=0.0),
        one("all cases at once", (8.0, 0.3), (0.08, -0.6), (0.9, 9.0), (0.7, -9.0), (0.8, 0.7), n=5),
        Scenario(  # a training loop moves the limits
            "limits that are moved between two calls",
            (
                renorm(2),
                running(draw, 2),
                Forward(batch(draw, 4, (3.0, -3.0), (2.0, 5.0))),
                Put("r_max", 1.2),
                Put("d_max", 0.4),
                running(draw, 2),
                Forward(batch(draw, 4, (3.0, -3.0), (2.0, 5.0))),
            ),
        ),
        Scenario(
            "limits that are moved, a narrow batch",
            (
                renorm(2),
                Put("r_max", 1.2),
                Put("d_max", 0.4),
                running(draw, 2),
                Forward(batch(draw, 4, (0.3, -0.3), (0.2, 0.4))),
            ),
        ),
        Scenario(
            "whole numbers as limits",
            (renorm(2, r_max=2, d_max=1), running(draw, 2), Forward(batch(draw, 4, (0.3, -9.0), (0.2, 9.0)))),
        ),
        Scenario(
            "wide limits, a batch far away",
            (renorm(2, r_max=90.0, d_max=50.0), running(draw, 2), Forward(batch(draw, 4, (60.0, -50.0), (2.0, 3.0)))),
        ),
        Scenario(  # each layer has limits of its own
            "beside another layer",
            (
                renorm(2, r_max=1.2, d_max=0.4),
                Twin(x_of(draw, (4, 2))),
                running(draw, 2),
                Forward(batch(draw, 4, (3.0, -3.0), (2.0, 5.0))),
            ),
        ),
        Scenario(  # the order of the arguments: eps, momentum, r_max, d_max
            "arguments by position",
            (
                Build("BatchRenorm1d", (2, 0.5, 0.3, 1.2, 0.4), {}, "float64"),
                running(draw, 2),
                Forward(batch(draw, 4, (3.0, -3.0), (2.0, 5.0))),
                State(),
            ),
            ("y", "m.running_mean"),
        ),
    )


def remembering(draw: Draw) -> tuple[Scenario, ...]:
    """What training leaves behind for evaluation."""
    momentum = draw.number(0.2, 0.45)

    def calls(*sizes: int) -> list[Step]:
        return [step for n in sizes for step in (Forward(x_of(draw, (n, 2))), State())]

    return (
        Scenario("a fresh layer", (renorm(2), State())),
        Scenario("one call", (renorm(2), Forward(x_of(draw, SMALL)), State())),
        Scenario("two samples", (renorm(3, momentum=momentum), Forward(x_of(draw, (2, 3))), State())),
        Scenario("one channel", (renorm(1, momentum=momentum), Forward(x_of(draw, (4, 1))), State())),
        Scenario("three calls", (renorm(2, momentum=momentum), *calls(3, 5, 2))),
        Scenario("a large eps", (renorm(2, eps=0.5, momentum=momentum), Forward(x_of(draw, SMALL)), State())),
        Scenario("momentum 0", (renorm(2, momentum=0.0), *calls(3, 2))),
        Scenario("momentum 1", (renorm(2, momentum=1.0), *calls(3, 2))),
        Scenario(  # nothing of this is clipped
            "far from what is remembered",
            (renorm(2, momentum=momentum, r_max=1.1, d_max=0.1), running(draw, 2),
             Forward(x_of(draw, SMALL, loc=20.0, scale=9.0)), State()),
        ),
        Scenario("given running values", (renorm(2, momentum=momentum), running(draw, 2), *calls(3))),
        Scenario("a very narrow batch", (renorm(2, momentum=1.0), Forward(batch(draw, 4, (0.0, 1.0), (0.02, 0.03))), State())),
        Scenario(
            "a channel that is constant",
            (renorm(2, momentum=momentum), Forward(batch(draw, 4, (1.0, 2.0), (0.0, 1.0))), State()),
        ),
        Scenario(
            "everything frozen",
            (
                renorm(2, momentum=momentum),
                Freeze(("weight", "bias")),
                Forward(x_of(draw, SMALL), x_requires_grad=False),
                State(),
            ),
        ),
        Scenario(
            "weight and bias frozen",
            (renorm(2, momentum=momentum), Freeze(("weight", "bias")), Forward(x_of(draw, SMALL)), State()),
        ),
        Scenario(
            "without gradients, still in training mode",
            (renorm(2, momentum=momentum), TRAIN, Forward(x_of(draw, SMALL), grad_enabled=False), State()),
        ),
        Scenario(
            "x frozen, still in training mode",
            (renorm(2, momentum=momentum), Forward(x_of(draw, SMALL), x_requires_grad=False), State()),
        ),
        Scenario(
            "weight and bias do not matter",
            (renorm(2, momentum=momentum), affine(draw, 2), Forward(x_of(draw, SMALL)), State()),
        ),
        Scenario(
            "two steps with gradients",
            (
                renorm(2, momentum=momentum),
                Forward(x_of(draw, SMALL), grad_of(draw, SMALL)),
                Forward(x_of(draw, SMALL), grad_of(draw, SMALL)),
                State(),
            ),
        ),
        Scenario(  # whatever is kept is the layer's own
            "beside another layer",
            (
                renorm(2, momentum=momentum),
                Forward(x_of(draw, SMALL)),
                Twin(x_of(draw, (4, 2))),
                State(),
                Forward(x_of(draw, SMALL)),
                State(),
            ),
        ),
        Scenario(
            "on again after evaluation",
            (
                renorm(2, child=True, momentum=momentum),
                Forward(x_of(draw, SMALL)),
                EVAL,
                Forward(x_of(draw, SMALL)),
                TRAIN,
                Forward(x_of(draw, SMALL)),
                State(),
            ),
        ),
        Scenario(
            "(N, C, L)", (renorm(2, momentum=momentum), Forward(x_of(draw, (2, 2, 3))), State())
        ),
    )  # fmt: skip


def evaluation(draw: Draw) -> tuple[Scenario, ...]:
    """Output in evaluation mode, and that it leaves the running values alone."""
    eps = draw.number(0.3, 0.8)

    def given(c: int = 2, child: bool = False, **kwargs: object) -> tuple[Step, ...]:
        return (renorm(c, child=child, **kwargs), running(draw, c))

    return (
        Scenario("a fresh layer", (renorm(2), EVAL, Forward(x_of(draw, SMALL)), State())),
        Scenario("given running values", (*given(), EVAL, Forward(x_of(draw, SMALL)), State())),
        Scenario("one value per channel", (*given(), EVAL, Forward(x_of(draw, (1, 2))), State())),
        Scenario("one value per channel, (N, C, L)", (*given(), EVAL, Forward(x_of(draw, (1, 2, 1))), State())),
        Scenario("a single number", (*given(1), EVAL, Forward(x_of(draw, (1, 1, 1))), State())),
        Scenario(  # whatever the running values are
            "a tiny running_std",
            (renorm(2), Load({"running_std": numbers(2e-6, 3e-4)}, fill=True), EVAL,
             Forward(x_of(draw, SMALL, scale=1e-4, loc=1e-4)), State()),
        ),
        Scenario("one channel", (*given(1), EVAL, Forward(x_of(draw, (4, 1))))),
        Scenario("a large eps", (*given(eps=eps), affine(draw, 2), EVAL, Forward(x_of(draw, SMALL)))),
        Scenario(  # eps is inside running_std and nowhere else
            "a small running_std",
            (renorm(2, eps=1e-3), Load({"running_std": numbers(*draw.numbers(0.02, 0.06, 2))}, fill=True), EVAL,
             Forward(x_of(draw, SMALL, scale=0.05, loc=0.1))),
        ),
        Scenario(  # r and d are of training
            "far from what is remembered", (*given(), EVAL, Forward(x_of(draw, SMALL, loc=30.0, scale=9.0)))
        ),
        Scenario("narrow limits", (*given(r_max=1.0, d_max=0.0), EVAL, Forward(x_of(draw, SMALL)))),
        Scenario("without gradients", (*given(), EVAL, Forward(x_of(draw, SMALL), grad_enabled=False), State())),
        Scenario(
            "the mode set by hand",
            (*given(), type(EVAL)(False, attribute=True), Forward(x_of(draw, SMALL)), State()),
        ),
        Scenario(
            "the mode set on the model around it", (*given(child=True), EVAL, Forward(x_of(draw, SMALL)), State())
        ),
        Scenario("(N, C, L)", (*given(3), affine(draw, 3), EVAL, Forward(x_of(draw, (2, 3, 4))), State())),
        Scenario(
            "twice the same",
            (*given(), EVAL, *(Forward(x_of(draw, (n, 2))) for n in (3, 5, 3)), State()),
        ),
        Scenario(
            "weight and bias frozen",
            (*given(), affine(draw, 2), Freeze(("weight", "bias")), EVAL, Forward(x_of(draw, SMALL))),
        ),
        Scenario(  # nothing is worked out once and for all
            "weights and running values changed in between",
            (
                renorm(2),
                *(
                    step
                    for _ in range(2)
                    for step in (affine(draw, 2), running(draw, 2), EVAL, Forward(x_of(draw, SMALL)))
                ),
            ),
        ),
        Scenario(  # nor handed out twice
            "calls without gradients, all changed in between",
            (
                renorm(2),
                EVAL,
                *(
                    step
                    for _ in range(2)
                    for step in (
                        affine(draw, 2),
                        running(draw, 2),
                        *(Forward(x_of(draw, SMALL), grad_enabled=False) for _ in range(2)),
                    )
                ),
            ),
        ),
        Scenario(
            "weights of 0, biases that add up to 0",
            (
                renorm(3),
                running(draw, 3),
                Load({"weight": numbers(0.0, 1.5, -2.0), "bias": numbers(1.0, -3.0, 2.0)}, fill=True),
                EVAL,
                Forward(x_of(draw, (4, 3))),
            ),
        ),
        Scenario(
            "beside another layer",
            (*given(), affine(draw, 2), EVAL, Twin(x_of(draw, (4, 2))), Forward(x_of(draw, SMALL)), State()),
        ),
        # Running values are given after the training calls: how these update them, and what they put out, is another check's
        # business. The gradient of weight is what came out in evaluation, weighed by the one that arrives.
        Scenario(
            "after two calls in training mode",
            (
                renorm(2),
                affine(draw, 2),
                Forward(x_of(draw, SMALL)),
                Forward(x_of(draw, (4, 2))),
                running(draw, 2),
                EVAL,
                Forward(x_of(draw, SMALL), grad_of(draw, SMALL)),
                State(),
            ),
            ("m.weight.grad", "m.running_*"),
        ),
    )  # fmt: skip


def with_length(draw: Draw) -> tuple[Scenario, ...]:
    """(N, C, L): statistics over N and L, the same layer."""
    eps = draw.number(0.3, 0.8)

    def forward(*shape: int, **more: object) -> Forward:
        return Forward(x_of(draw, shape, **more), grad_of(draw, shape))

    def given(c: int, **kwargs: object) -> tuple[Step, ...]:
        return (renorm(c, **{"momentum": 0.5, **WIDE, **kwargs}), running(draw, c))

    return (
        Scenario("a short sequence", (*given(2), forward(2, 2, 3), State())),
        # With r unclipped the output does not show which values share a mean; with r = 1 and d = 0 it does.
        Scenario("a short sequence, r_max = 1, d_max = 0", (*given(2, r_max=1.0, d_max=0.0), forward(2, 2, 3), State())),
        Scenario("as many positions as channels", (*given(3, r_max=1.2), affine(draw, 3), forward(2, 3, 3), State())),
        Scenario("one sample", (*given(2), forward(1, 2, 4), State())),  # N = 1 is no obstacle
        Scenario("one position", (*given(2), forward(3, 2, 1), State())),
        Scenario("one channel", (*given(1, d_max=0.0), forward(3, 1, 2), State())),
        Scenario("all sizes equal", (*given(3, eps=eps, r_max=1.3, d_max=0.1), affine(draw, 3), forward(3, 3, 3), State())),
        Scenario(
            "two calls, then evaluation",
            (*given(3), affine(draw, 3), forward(2, 3, 4), running(draw, 3), forward(4, 3, 2), running(draw, 3), EVAL,
             forward(2, 3, 5), State()),
        ),
        Scenario("transposed from (N, L, C)", (*given(3), forward(2, 3, 4, layout="channels_last"), State())),
        Scenario("(N, C), then (N, C, L)", (*given(2), forward(3, 2), running(draw, 2), forward(2, 2, 3), State())),
    )  # fmt: skip


def errors(draw: Draw) -> tuple[Scenario, ...]:
    """ValueError where the text wants one, and none where a number of samples only looks too small."""

    def tried(name: str, shape: tuple[int, ...], c: int = 3, *before: Step, gradients: bool = True) -> Scenario:
        return Scenario(name, (renorm(c), *before, Forward(draw.tensor(*shape, loc=1.0), grad_enabled=gradients)))

    ranks = ((3,), (2, 3, 2, 2), (2, 3, 2, 2, 2))
    return (
        tried("one value per channel, training", (1, 2), 2),
        tried("one value per channel, one channel", (1, 1), 1),
        tried("one value per channel, (N, C, L)", (1, 2, 1), 2),
        tried("one too many channels", (3, 4)),
        tried("one too few channels", (3, 2)),
        tried("one channel where three are needed", (3, 1)),  # would broadcast
        tried("three channels where one is needed", (3, 3), 1),  # would broadcast
        tried("wrong channels, evaluation", (3, 2), 3, EVAL),
        tried("one channel, evaluation", (3, 1), 3, EVAL),
        tried("wrong channels, (N, C, L)", (2, 4, 3)),
        tried("(N, L, C) in place of (N, C, L)", (2, 5, 3)),
        tried("a single number without axes", ()),
        *(tried(f"x of shape {shape}", shape) for shape in ranks),
        *(tried(f"x of shape {shape}, evaluation", shape, 3, EVAL) for shape in ranks),
        tried("one channel, evaluation, without gradients", (3, 1), 3, EVAL, gradients=False),
        tried("one value per channel, evaluation", (1, 2), 2, EVAL),  # is fine
        tried("one sample, several places", (1, 2, 3), 2),  # is fine
    )


def gradients(draw: Draw) -> tuple[Scenario, ...]:
    """Through autograd, in both modes, with any of x, weight and bias frozen; r and d are constants."""
    eps = draw.number(0.3, 0.8)

    def step(n: int = 3, c: int = 2, **more: object) -> Forward:
        return Forward(x_of(draw, (n, c)), grad_of(draw, (n, c)), **more)  # type: ignore[arg-type]

    def given(c: int = 2, **kwargs: object) -> tuple[Step, ...]:
        return (renorm(c, **{**WIDE, "eps": eps, **kwargs}), running(draw, c), affine(draw, c))

    flat = Recipe(SMALL, values=(2.5,) * size_of(SMALL))  # the root of a variance of 0 has no slope
    frozen = [
        ("x", (), False),
        ("weight", ("weight",), True),
        ("bias", ("bias",), True),
        ("weight and bias", ("weight", "bias"), True),
        ("x and weight", ("weight",), False),
        ("x and bias", ("bias",), False),
    ]
    return (
        Scenario("nothing clipped", (renorm(2, **WIDE), running(draw, 2), step())),
        Scenario("weight and bias", (*given(), step())),
        Scenario("two samples", (*given(), step(2))),
        Scenario("only d is clipped", (*given(d_max=0.0), step())),
        Scenario("only r is clipped", (*given(r_max=1.0), step())),
        Scenario("r_max = 1, d_max = 0", (*given(r_max=1.0, d_max=0.0), step())),
        Scenario("evaluation", (*given(), EVAL, step())),
        Scenario("a fresh layer, evaluation", (renorm(2), EVAL, step())),
        *(Scenario(f"{who} frozen", (*given(), Freeze(names), step(x_requires_grad=x))) for who, names, x in frozen),
        *(
            Scenario(f"{who} frozen, evaluation", (*given(), Freeze(names), EVAL, step(x_requires_grad=x)))
            for who, names, x in frozen[:4]
        ),
        # The second step asks for the gradient only: numbers are given anew in between.
        Scenario("two steps", (*given(), step(), running(draw, 2), step())),
        Scenario(
            "an evaluation between forward and backward",
            (
                *given(),
                Forward(x_of(draw, SMALL), later=True),
                EVAL,
                Forward(x_of(draw, (4, 2)), grad_enabled=False),
                Backward(grad_of(draw, SMALL)),
            ),
        ),
        Scenario(
            "an evaluation of the same shape between them",
            (
                *given(),
                Forward(x_of(draw, SMALL), later=True),
                EVAL,
                Forward(x_of(draw, SMALL)),
                Backward(grad_of(draw, SMALL)),
            ),
        ),
        *(
            Scenario(
                f"a large gradient arrives{said}",
                (*given(), *mode, Forward(x_of(draw, SMALL), draw.tensor(*SMALL, loc=50.0, scale=300.0))),
            )
            for said, mode in (("", ()), (", evaluation", (EVAL,)))
        ),
        Scenario("a constant input", (renorm(2), affine(draw, 2), Forward(flat, grad_of(draw, SMALL)))),
        Scenario("more samples", (*given(3), step(5, 3))),
        Scenario(
            "small numbers",
            (
                renorm(2, d_max=60.0),
                affine(draw, 2),
                Forward(x_of(draw, SMALL, scale=0.02, loc=0.03), grad_of(draw, SMALL)),
            ),
        ),
    )


def numerics(draw: Draw) -> tuple[Scenario, ...]:
    """float32, memory layouts, copies; x must stay as it was."""

    def step(*shape: int, **more: object) -> Forward:
        dtype, layout = more.get("dtype", "float64"), more.get("layout", "contiguous")
        return Forward(x_of(draw, shape, **more), grad_of(draw, shape, dtype=dtype, layout=layout))

    single = {"dtype": "float32"}
    return (
        Scenario("float32", (renorm(2, None, **WIDE), step(3, 2, **single), State())),
        Scenario(
            "float32, evaluation", (renorm(2, None, **WIDE), running(draw, 2), EVAL, step(3, 2, **single), State())
        ),
        Scenario("float64", (renorm(2, **WIDE), step(3, 2), State(), running(draw, 2), EVAL, step(3, 2))),
        *(
            Scenario(f"{layout} input", (renorm(3, **WIDE), running(draw, 3), step(4, 3, layout=layout), State()))
            for layout in ("transposed", "strided")
        ),
        *(
            Scenario(f"{layout} input, evaluation", (renorm(3), running(draw, 3), EVAL, step(4, 3, layout=layout)))
            for layout in ("transposed", "strided")
        ),
        Scenario(
            "a strided (N, C, L)", (renorm(3, **WIDE), running(draw, 3), step(2, 3, 4, layout="strided"), State())
        ),
        # A call without gradients before the copy: what a layer keeps for itself may then be copied, too.
        Scenario(
            "a deep copy after a call",
            (
                renorm(2, **WIDE),
                Forward(x_of(draw, SMALL), grad_enabled=False),
                Reload(copy=True),
                step(3, 2),
                State(),
            ),
        ),
        Scenario("x without gradients", (renorm(2, **WIDE), Forward(x_of(draw, SMALL), grad_enabled=False))),
        Scenario(  # a fresh layer would give back x
            "x without gradients, evaluation",
            (renorm(2), running(draw, 2), EVAL, Forward(x_of(draw, SMALL), grad_enabled=False)),
        ),
        *(
            Scenario(
                f"x without gradients, (N, C, L){said}",
                (renorm(2, **WIDE), running(draw, 2), *mode, Forward(x_of(draw, (2, 2, 3)), grad_enabled=False)),
            )
            for said, mode in (("", ()), (", evaluation", (EVAL,)))
        ),
        Scenario("large numbers", (renorm(2, None, r_max=1.0), step(3, 2, scale=3000.0, loc=0.0, **single))),
    )


def large_mean(draw: Draw) -> tuple[Scenario, ...]:
    """A mean of 200 standard deviations in float32, whose honest rounding the reference avoids: the check sets the tolerance."""

    def step(*shape: int) -> Forward:
        return Forward(x_of(draw, shape, loc=200.0, scale=1.0, dtype="float32"), grad_of(draw, shape, dtype="float32"))

    held = {"r_max": 1.0, "d_max": 0.0}
    return (
        Scenario("a mean of 200 standard deviations", (renorm(6, None, **held), step(8, 6))),
        Scenario("a mean of 200 standard deviations, (N, C, L)", (renorm(5, None, **held), step(2, 5, 4))),
        Scenario("r_max = 1.1", (renorm(6, None, r_max=1.1, d_max=2.0), step(8, 6))),
        Scenario(
            "without gradients",
            (
                renorm(6, None, **held),
                Forward(x_of(draw, (8, 6), loc=200.0, scale=1.0, dtype="float32"), grad_enabled=False),
            ),
        ),
    )
