"""The checks of lab 1: which scenario keeps which promise of the contract.

The layers' checks are made once for both layers, by `layer_scenarios`; what differs between (N, C) and (N, C, H, W) is a
`Shapes`. Inputs are chosen so that no mistake can hide: unequal N, C, L, H, W, few values per channel, weight and bias far from 1
and 0, eps large, random upstream gradients. `docs/labs/matrix.md` shows which mistake fails which check.
"""

from __future__ import annotations

from dataclasses import replace

from autograder.checks.check import Check, Draw, Lab, prediction
from autograder.trace.scenario import Call, Recipe, Scenario
from solutions.lab01_batch_norm import layer_scenarios as layer
from solutions.lab01_batch_norm import steps
from solutions.lab01_batch_norm.layer_scenarios import IMAGES, ROWS
from solutions.lab01_batch_norm.mistakes import MISTAKES
from solutions.lab01_batch_norm.plain import PLAIN
from solutions.reference import batch_norm

# Numbers of the running statistics are the running check's business, so that one fault there costs one check.
STATE = ("parameters", "state_dict keys", "kind of *", "shape of *", "m.weight", "m.bias")
GRADIENTS = ("x.grad", "m.*.grad")
EARLIER = "the earlier y *"
RUNNING = ("m.running_*", "m.num_batches_tracked*", "kind of m.running_*", "kind of m.num_batches_tracked")
LENGTH = ("y", "m.running_mean", "m.num_batches_tracked", "shape of m.running_*", *GRADIENTS)


def _predictions() -> tuple[Check, ...]:
    asked = {
        "predict-output": ("predicted_output", "the first output in training mode"),
        "predict-running-mean": ("predicted_running_mean", "the running mean after one call"),
        "predict-running-var": ("predicted_running_var", "the running variance after one call"),
    }

    return tuple(prediction(name, target, title) for name, (target, title) in asked.items())


def _call(name: str, target: str, *args: object, **kwargs: object) -> Scenario:
    return Scenario(name, (Call(target, args, kwargs),))  # type: ignore[arg-type]


def _statistics(draw: Draw) -> tuple[Scenario, ...]:
    shapes = ((3, 2), (2, 3), (5, 1), (6, 4))
    return tuple(
        _call(f"x of shape {shape}", "batch_statistics", draw.tensor(*shape, loc=draw.number(1, 3), scale=2.0))
        for shape in shapes
    )


def _normalize(draw: Draw) -> tuple[Scenario, ...]:
    return tuple(
        _call(
            f"x of shape ({n}, {c}), eps {eps}",
            "normalize",
            draw.tensor(n, c, loc=2.0, scale=3.0),
            draw.tensor(c),
            draw.tensor(c, positive=True),
            eps,
        )
        for n, c, eps in ((3, 2, 0.5), (2, 3, 0.1), (4, 4, 1e-5))
    )


def _updated_running(draw: Draw) -> tuple[Scenario, ...]:
    return tuple(
        _call(
            f"{n} values, momentum {momentum}",
            "updated_running",
            draw.tensor(c),
            draw.tensor(c, loc=2.0, positive=True),
            draw.tensor(c, loc=3.0),
            draw.tensor(c, loc=4.0, positive=True),
            n,
            momentum,
        )
        for c, n, momentum in ((2, 2, 0.1), (3, 4, 0.3), (1, 7, 1.0), (2, 5, 0.0))
    )


def _backward_call(draw: Draw, target: str, n: int, c: int, *eps: float, **x: object) -> Scenario:
    given = {"loc": draw.numbers(-2, 2, c), "scale": draw.numbers(0.5, 3, c), **x}
    dtype, layout = given.get("dtype", "float64"), given.get("layout", "contiguous")
    grad = draw.tensor(n, c, scale=2.0, loc=0.5, dtype=dtype, layout=layout)  # type: ignore[arg-type]
    weight = draw.tensor(c, loc=-1.5, dtype=dtype)  # type: ignore[arg-type]
    name = f"x of shape ({n}, {c})" + (f", eps {eps[0]:g}" if eps else ", eps left out")
    return _call(name, target, grad, draw.tensor(n, c, **given), weight, *eps)  # type: ignore[arg-type]


def _backward_steps(draw: Draw) -> tuple[Scenario, ...]:
    sizes = ((3, 2, 0.5), (2, 3, 0.1), (5, 1, 1e-5), (4, 4, 0.3))
    return tuple(_backward_call(draw, "backward_steps", *size) for size in sizes)


def _backward_values(draw: Draw) -> tuple[Scenario, ...]:
    sizes = ((3, 2, 0.1), (2, 3, 0.5), (5, 1, 0.2), (4, 4, 0.3), (7, 3, 1e-5))
    return tuple(_backward_call(draw, "batch_norm_backward", *size) for size in sizes)


def _backward_numerics(draw: Draw) -> tuple[Scenario, ...]:
    target = "batch_norm_backward"
    named = _backward_call(draw, target, 3, 2, 0.4).steps[0]
    assert isinstance(named, Call)
    words = dict(zip(("grad_out", "x", "weight", "eps"), named.args, strict=True))
    return (
        Scenario("arguments by keyword", (Call(target, (), words),)),
        _backward_call(draw, target, 3, 2),
        _backward_call(draw, target, 4, 3, scale=0.01),
        _backward_call(draw, target, 5, 3, 1e-5, dtype="float32"),
        _backward_call(draw, target, 8, 6, 1e-5, dtype="float32", loc=100.0, scale=1.0),
        _backward_call(draw, target, 4, 3, 0.2, layout="transposed"),
        _backward_call(draw, target, 3, 4, 0.2, layout="strided", dtype="float32"),
        _backward_call(draw, target, 4, 2, 1e-3, loc=1.5, scale=0.0),
        _backward_call(draw, target, 3, 3, 0.2, layout="transposed"),
        _backward_call(draw, target, 4, 2, 1e-14, loc=0.0, scale=1e-6),
        Scenario("weights of 0", (replace(named, args=(*named.args[:2], Recipe((2,), values=(0.0, -2.0)), 0.2)),)),
        Scenario("two calls of one shape", (named, *_backward_call(draw, target, 3, 2, 0.3).steps)),
    )


def _step(name: str, points: float, title: str, target: str, scenarios: object, *keys: str) -> Check:
    return Check(name, target, points, title, scenarios, keys or ("*",), contract=False)  # type: ignore[arg-type]


BACKWARD_STEPS = tuple(
    _step(f"backward-{key.replace('_', '-')}", 1, title, "backward_steps", _backward_steps, f"result['{key}']")
    for key, title in {
        "mean": "the mean of each feature",
        "var": "the biased variance of each feature",
        "x_hat": "the normalized input",
        "grad_x_hat": "the gradient that reaches x_hat",
        "grad_var": "the gradient of the variance, summed over the batch",
        "grad_mean": "the gradient of the mean, summed over the batch",
        "grad_x": "the three paths back to x, added up",
    }.items()
)


def _layer(prefix: str, target: str, shapes: layer.Shapes, points: dict[str, float]) -> tuple[Check, ...]:
    promises = {
        "interface": ("constructor, parameters, buffers and state dictionary", layer.interface, (*STATE, "forward*")),
        "training": ("training mode: statistics of the batch, biased variance, affine", layer.training, ("y",)),
        "running": ("running statistics: momentum, unbiased variance, no graph", layer.running, RUNNING),
        "evaluation": (
            "evaluation mode: running statistics, left untouched",
            layer.evaluation,
            ("y", EARLIER, *RUNNING),
        ),
        "ncl": ("input (N, C, L)", layer.with_length, LENGTH),
        "options": ("affine, track_running_stats, momentum=None", layer.options, ("y", *STATE, *RUNNING, *GRADIENTS)),
        "errors": ("ValueError for a wrong rank, a wrong C, one value per channel", layer.errors, ()),
        "gradients": ("gradients in both modes, whatever is frozen", layer.gradients, (*GRADIENTS, "grad_out *")),
        "numerics": (
            "float32, strided input, a large mean, x left alone",
            layer.numerics,
            ("y", "shape of m.*", *GRADIENTS, "x *"),
        ),
    }

    def check(promise: str) -> Check:
        title, scenarios, keys = promises[promise]
        return Check(
            f"{prefix}-{promise}", target, points[promise], title, lambda draw: scenarios(draw, target, shapes), keys
        )

    return tuple(check(promise) for promise in points)


CHECKS = (
    *_predictions(),
    _step(
        "step-statistics", 2, "mean and biased variance of each feature", "batch_statistics", _statistics, "result[?]"
    ),
    _step("step-normalize", 2, "centre and scale", "normalize", _normalize, "result"),
    _step(
        "step-running", 2, "the two running statistics after a batch", "updated_running", _updated_running, "result[?]"
    ),
    *_layer(
        "bn1d",
        "BatchNorm1d",
        ROWS,
        {
            "interface": 2,
            "training": 4,
            "running": 4,
            "evaluation": 4,
            "ncl": 3,
            "options": 4,
            "errors": 2,
            "gradients": 4,
            "numerics": 3,
        },
    ),
    *_layer(
        "bn2d",
        "BatchNorm2d",
        IMAGES,
        {
            "interface": 2,
            "training": 4,
            "running": 3,
            "evaluation": 3,
            "options": 3,
            "errors": 2,
            "gradients": 3,
            "numerics": 2,
        },
    ),
    *BACKWARD_STEPS,
    Check(
        "bnb-input",
        "batch_norm_backward",
        4,
        "the gradient of x",
        _backward_values,
        ("result[0]",),
        autograd=False,
    ),
    Check(
        "bnb-parameters",
        "batch_norm_backward",
        3,
        "the gradients of weight and bias",
        _backward_values,
        ("result[1]", "result[2]"),
        autograd=False,
    ),
    Check(
        "bnb-numerics",
        "batch_norm_backward",
        3,
        "eps, dtypes, layouts, small variances, arguments left alone",
        _backward_numerics,
        ("result[?]", "len(result)", "argument *", "the earlier result *"),
        autograd=False,
    ),
)

LAB = Lab(
    name="lab01_batch_norm",
    title="Batch normalization",
    contract=("BatchNorm1d", "BatchNorm2d", "batch_norm_backward"),
    checks=CHECKS,
    reference={
        "BatchNorm1d": batch_norm.BatchNorm1d,
        "BatchNorm2d": batch_norm.BatchNorm2d,
        "batch_norm_backward": batch_norm.batch_norm_backward,
        "batch_statistics": steps.batch_statistics,
        "normalize": steps.normalize,
        "updated_running": steps.updated_running,
        "backward_steps": steps.backward_steps,
        **steps.PREDICTIONS,
    },
    mistakes=MISTAKES,
    plain=PLAIN,
)
