"""The checks of lab 2: which scenario keeps which promise of the contract.

`docs/labs/matrix.md` shows which mistake fails which check.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from autograder.checks.check import Check, Draw, Lab, prediction
from autograder.trace.scenario import Call, Scenario, Sizes
from solutions.lab02_layer_norm import backward_scenarios as backward
from solutions.lab02_layer_norm import layer_scenarios as layer
from solutions.lab02_layer_norm import rms_scenarios as rms
from solutions.lab02_layer_norm import steps
from solutions.lab02_layer_norm.inputs import rows
from solutions.lab02_layer_norm.mistakes import MISTAKES
from solutions.lab02_layer_norm.plain import PLAIN
from solutions.reference import layer_norm

KINDS = ("parameters", "state_dict keys", "kind of *", "shape of *")
GRADIENTS = ("x.grad", "m.*.grad")
EARLIER = "the earlier y *"
Scenarios = Callable[[Draw], tuple[Scenario, ...]]


def _statistics(draw: Draw) -> tuple[Scenario, ...]:
    shapes = ((2, 3), (3, 2), (3, 3), (4, 1), (2, 3, 4), (2, 2, 2, 3))
    return tuple(Scenario(f"x of shape {s}", (Call("row_statistics", (rows(draw, s),)),)) for s in shapes)


def _shape(draw: Draw) -> tuple[Scenario, ...]:
    n = int(draw.number(5, 60))
    given = (n, (n,), (4, n), (n, 2, 3), *(Sizes(kind, of) for kind in ("list", "Size") for of in ((n,), (3, n))))  # type: ignore[arg-type]
    return tuple(Scenario(f"as_shape of {entry}", (Call("as_shape", (entry,)),)) for entry in given)


def _normalize(draw: Draw) -> tuple[Scenario, ...]:
    asked = (((2, 3), 1), ((3, 4), 1), ((2, 3, 4), 1), ((2, 3, 4), 2), ((3, 3, 3), 2), ((2, 3, 2, 2), 3), ((2, 3), 2))
    return tuple(
        Scenario(f"x of shape {shape}, k = {k}", (Call("normalize_last", (rows(draw, shape), k, eps)),))
        for (shape, k), eps in zip(asked, (0.5, 1e-5, 0.2, 0.4, 0.3, 0.1, 0.6), strict=True)
    )


def _step(name: str, points: float, title: str, target: str, scenarios: Scenarios, *keys: str) -> Check:
    return Check(name, target, points, title, scenarios, keys, contract=False)


def _by_hand(
    name: str, points: float, title: str, target: str, scenarios: Scenarios, *keys: str, **more: bool
) -> Check:
    return Check(name, target, points, title, scenarios, keys, autograd=False, **more)  # type: ignore[arg-type]


PREDICTIONS = tuple(
    prediction(name, f"predicted_{target}", title)
    for name, target, title in (
        ("ln-predict-output", "output", "the last number that LayerNorm gives"),
        ("ln-predict-rms", "rms_output", "the last number that RMSNorm gives"),
        ("ln-predict-token-means", "token_means", "the number of means of LayerNorm(8)"),
        ("ln-predict-sample-means", "sample_means", "the number of means of LayerNorm((6, 8))"),
        ("ln-predict-weights", "weights", "the number of weights of LayerNorm((6, 8))"),
        ("ln-predict-token-leak", "token_leak", "the tokens that change under LayerNorm(8)"),
        ("ln-predict-sample-leak", "sample_leak", "the tokens that change under LayerNorm((6, 8))"),
    )
)

LAYER = tuple(
    Check(f"ln-{promise}", layer.TARGET, points, title, scenarios, keys)
    for promise, points, title, scenarios, keys in (
        ("interface", 2, "constructor, parameters, state dictionary", layer.interface, (*KINDS, "m.weight", "m.bias", "forward*")),
        ("output", 4, "the output over the last axis: biased variance, eps, affine", layer.output, ("y",)),
        ("shapes", 4, "normalized_shape: int, list, tuple, torch.Size; several axes", layer.shapes, ("y", "shape of m.*")),
        ("modes", 2, "the same in training and evaluation, nothing remembered", layer.modes, ("y", "state_dict keys", EARLIER)),
        ("options", 2, "elementwise_affine, arguments by position", layer.options, ("y", *KINDS, *GRADIENTS)),
        ("errors", 3, "ValueError for a trailing shape that differs", layer.errors, ()),
        ("gradients", 4, "gradients, whatever is frozen", layer.gradients, (*GRADIENTS, "grad_out *")),
        ("numerics", 2, "float32, strided input, x left alone", layer.numerics, ("y", "shape of m.*", *GRADIENTS, "x *")),
    )
)  # fmt: skip

# How far honest float32 goes astray at a mean of 100 is known: some 1e-4 in a gradient; E[x^2] - E[x]^2 is off by 5e-3 and more.
# The reference is better than it has to be there, so that a tolerance derived from it would be too tight.
LARGE_MEAN = tuple(
    Check(
        f"{name}-large-mean", target, 1, "a mean of 100 standard deviations in float32", scenarios, keys, tolerance=4e-4
    )
    for name, target, scenarios, keys in (
        ("ln", layer.TARGET, layer.large_mean, ("y", *GRADIENTS)),
        ("lnb", backward.TARGET, backward.large_mean, ("result[?]",)),
    )
)

BACKWARD_STEPS = tuple(
    _by_hand(
        f"lnb-step-{key.replace('_', '-')}",
        1,
        title,
        "layer_norm_steps",
        lambda draw: backward.steps(draw, "layer_norm_steps"),
        f"result['{key}']",
        contract=False,
    )
    for key, title in {
        "mean": "the mean of each row",
        "var": "the biased variance of each row",
        "x_hat": "the normalized input",
        "grad_x_hat": "the gradient that reaches x_hat",
        "grad_var": "the gradient of each row's variance",
        "grad_mean": "the gradient of each row's mean",
        "grad_x": "the three paths back to x, added up",
    }.items()
)

BACKWARD = tuple(
    _by_hand(f"lnb-{promise}", points, title, backward.TARGET, scenarios, *keys)
    for promise, points, title, scenarios, keys in (
        ("input", 4, "the gradient of x, (N, D)", backward.pairs, ("result[0]",)),
        ("parameters", 2, "the gradients of weight and bias, (N, D)", backward.pairs, ("result[1]", "result[2]")),
        ("ranks", 3, "all three gradients for more axes", backward.ranks, ("result[?]",)),
        (
            "numerics",
            2,
            "eps, dtypes, layouts, small variances, arguments left alone",
            backward.numerics,
            ("result[?]", "len(result)", "* is unchanged"),
        ),
    )
)

RMS = tuple(
    Check(f"rms-{promise}", rms.TARGET, points, title, scenarios, keys)
    for promise, points, title, scenarios, keys in (
        ("interface", 2, "constructor, weight, state dictionary", rms.interface, (*KINDS, "m.weight", "forward*")),
        ("output", 2, "the output: mean square, eps, weight", rms.output, ("y", EARLIER)),
        ("shapes", 1, "normalized_shape: int, list, tuple, torch.Size", rms.shapes, ("y", "shape of m.weight")),
        ("eps", 2, "eps=None, and eps as it is given", rms.default_eps, ("y", "m.weight.grad")),
        ("gradients", 2, "gradients, whatever is frozen", rms.gradients, (*GRADIENTS, "grad_out *")),
        ("numerics", 2, "the dtype of x comes out, strided input, x left alone", rms.numerics, ("y", *GRADIENTS, "x *")),
    )
)  # fmt: skip

LAB = Lab(
    name="lab02_layer_norm",
    title="Layer normalization",
    contract=("LayerNorm", "layer_norm_backward", "RMSNorm"),
    checks=(
        *PREDICTIONS,
        _step(
            "ln-step-statistics", 2, "mean and biased variance of each row", "row_statistics", _statistics, "result[?]"
        ),
        _step("ln-step-shape", 2, "normalized_shape as a tuple", "as_shape", _shape, "result[?]", "len(result)"),
        _step("ln-step-normalize", 2, "normalize over the last k axes", "normalize_last", _normalize, "result"),
        *LAYER,
        LARGE_MEAN[0],
        *BACKWARD_STEPS,
        *BACKWARD,
        replace(LARGE_MEAN[1], autograd=False),
        *RMS,
        _by_hand(
            "rms-step-grad-x",
            2,
            "the gradient of RMSNorm with respect to x",
            "rms_norm_grad_x",
            lambda draw: backward.steps(draw, "rms_norm_grad_x"),
            "result",
            contract=False,
        ),
    ),
    reference={
        "LayerNorm": layer_norm.LayerNorm,
        "layer_norm_backward": layer_norm.layer_norm_backward,
        "RMSNorm": layer_norm.RMSNorm,
        "row_statistics": steps.row_statistics,
        "as_shape": steps.as_shape,
        "normalize_last": steps.normalize_last,
        "layer_norm_steps": steps.layer_norm_steps,
        "rms_norm_grad_x": steps.rms_norm_grad_x,
        **steps.PREDICTIONS,
    },
    mistakes=MISTAKES,
    plain=PLAIN,
)
