"""The checks of lab 6: which scenario keeps which promise of the task text.

`renorm_scenarios` asks BatchRenorm1d, `weight_scenarios` asks WeightNormLinear, `step_scenarios` the functions on the way to them.
Each check looks at what it is about, so that one fault costs one check; `docs/labs/matrix.md` shows which mistake fails which.
"""

from __future__ import annotations

from collections.abc import Callable

from autograder.checks.check import Check, Draw, Lab, prediction
from autograder.trace.scenario import Scenario
from solutions.lab06_beyond import renorm_scenarios as renorm
from solutions.lab06_beyond import step_scenarios as step
from solutions.lab06_beyond import steps
from solutions.lab06_beyond import weight_scenarios as weight
from solutions.lab06_beyond.mistakes import MISTAKES
from solutions.lab06_beyond.plain import PLAIN
from solutions.reference.batch_renorm import BatchRenorm1d
from solutions.reference.weight_norm import WeightNormLinear

Scenarios = Callable[[Draw], tuple[Scenario, ...]]

HELD = ("weight", "bias", "running_mean", "running_std")
KINDS = tuple(f"{what} of m.{name}" for what in ("kind", "shape") for name in HELD)
STATE = ("parameters", "state_dict keys", *KINDS, "m.weight", "m.bias", "forward*")
RUNNING = ("m.running_mean*", "m.running_std*", "kind of m.running_mean", "kind of m.running_std")
GRADIENTS = ("x.grad", "m.*.grad")
KEPT = ("m.weight_?", "x is unchanged")
EARLIER = "the earlier y *"
EVALUATED = ("y", "m.weight.grad", *RUNNING)
LENGTH = ("y", "m.running_mean", "m.running_std", "shape of m.running_mean", "shape of m.running_std", *GRADIENTS)
NUMERICS = ("y", *KINDS, *GRADIENTS, "x *")


def _predictions() -> tuple[Check, ...]:
    asked = {
        "brn-predict-r": ("predicted_r", "the factor r of a small batch"),
        "brn-predict-d": ("predicted_d", "the shift d of a small batch"),
        "brn-predict-output": ("predicted_output", "the first output in training mode"),
        "wn-predict-norm": ("predicted_row_norm", "the length of a row of W after a step of v"),
    }

    return tuple(prediction(name, target, title) for name, (target, title) in asked.items())


PREDICTIONS = _predictions()


def _step(name: str, points: float, title: str, target: str, scenarios: Scenarios, *keys: str) -> Check:
    return Check(name, target, points, title, scenarios, keys or ("result",), contract=False)


STEPS = (
    _step(
        "brn-step-statistics", 2, "mean and sigma of each feature", "batch_statistics", step.statistics, "result[?]"
    ),
    _step("brn-step-correction", 3, "r and d, clipped", "correction", step.correction, "result[?]"),
    _step("brn-step-output", 2, "the corrected x_hat", "corrected", step.corrected),
    _step(
        "brn-step-running", 2, "the two running values after a batch", "updated_running", step.updated_running,
        "result[?]",
    ),
    _step("brn-step-evaluation", 1, "what evaluation gives", "evaluated", step.evaluated),
    _step(
        "brn-equal-batch-norm", 1, "the limits that leave batch norm", "as_batch_norm", step.equal_batch_norm
    ),
    _step(
        "brn-equal-evaluation", 3, "the smallest limits that give evaluation's answer", "limits_for_evaluation",
        step.equal_evaluation, "result[?]",
    ),
)  # fmt: skip

LARGE_MEAN = Check(
    "brn-large-mean",
    "BatchRenorm1d",
    1,
    "a mean of 200 standard deviations in float32",
    renorm.large_mean,
    ("y", *GRADIENTS),
    tolerance=2e-3,  # the mean itself is rounded to 1e-5 there, and the reference mends that
)

RENORM = (
    *(
        # The contract leaves errors open: the task text asks for them, so they count in the notebook alone.
        Check(f"brn-{name}", "BatchRenorm1d", points, title, scenarios, keys, contract=name != "errors")
        for name, points, title, scenarios, keys in (
            ("interface", 2, "constructor, parameters, buffers and state dictionary", renorm.interface, STATE),
            ("training", 4, "training mode: x_hat corrected by r and d, then weight and bias", renorm.training, ("y",)),
            ("clipping", 3, "r and d within their limits", renorm.clipping, ("y", "m.running_mean")),
            ("running", 4, "running mean and standard deviation: momentum, no graph", renorm.remembering, RUNNING),
            (
                "evaluation",
                4,
                "evaluation mode: running values, left untouched",
                renorm.evaluation,
                (*EVALUATED, EARLIER),
            ),
            ("ncl", 3, "input (N, C, L)", renorm.with_length, LENGTH),
            ("errors", 2, "ValueError for a wrong rank, a wrong C, one value per channel", renorm.errors, ()),
            (
                "gradients",
                4,
                "gradients in both modes; r and d are constants",
                renorm.gradients,
                (*GRADIENTS, "grad_out *"),
            ),
            ("numerics", 2, "float32, strided input, large numbers, x left alone", renorm.numerics, NUMERICS),
        )
    ),
    LARGE_MEAN,
)

BACKWARD_STEPS = tuple(
    Check(
        f"wn-backward-{key.replace('_', '-')}",
        "wn_backward_steps",
        1,
        title,
        step.weight_norm_backward,
        (f"result['{key}']",),
        contract=False,
        autograd=False,
    )
    for key, title in {
        "length": "the length of each row of v",
        "weight": "the weight matrix",
        "grad_weight": "the gradient of the weight matrix",
        "grad_g": "the gradient of g",
        "grad_v": "the gradient of v, at right angles to v",
    }.items()
)

WEIGHT = tuple(
    # So it is with the numbers that a fresh layer begins with.
    Check(f"wn-{name}", "WeightNormLinear", points, title, scenarios, keys, contract=name != "start")
    for name, points, title, scenarios, keys in (
        (
            "interface",
            2,
            "constructor, parameters and state dictionary",
            weight.interface,
            (*weight.KINDS, "m.weight_?", "m.bias"),
        ),
        ("start", 1, "a fresh layer is the plain linear layer of weight_v", weight.start, ("weight_g *", "weight_v *")),
        ("forward", 4, "rows of length g along v; g and v are only read", weight.forward, ("y", *KEPT, EARLIER)),
        ("shapes", 2, "any axes before the last", weight.shapes, ("y",)),
        (
            "gradients",
            4,
            "gradients of x, g, v and the bias, whatever is frozen",
            weight.gradients,
            (*GRADIENTS, "grad_out *"),
        ),
        (
            "numerics",
            2,
            "float32, strided input, large numbers, x left alone",
            weight.numerics,
            ("y", "shape of m.weight_?", *GRADIENTS, *KEPT),
        ),
    )
)

LAB = Lab(
    name="lab06_beyond",
    title="Beyond batch normalization",
    contract=("BatchRenorm1d", "WeightNormLinear"),
    checks=(*PREDICTIONS[:-1], *STEPS, *RENORM, PREDICTIONS[-1], *BACKWARD_STEPS, *WEIGHT),  # as in the notebook
    reference={
        "BatchRenorm1d": BatchRenorm1d,
        "WeightNormLinear": WeightNormLinear,
        "batch_statistics": steps.batch_statistics,
        "correction": steps.correction,
        "corrected": steps.corrected,
        "updated_running": steps.updated_running,
        "evaluated": steps.evaluated,
        "as_batch_norm": steps.as_batch_norm,
        "limits_for_evaluation": steps.limits_for_evaluation,
        "wn_backward_steps": steps.wn_backward_steps,
        **steps.PREDICTIONS,
    },
    mistakes=MISTAKES,
    plain=PLAIN,
)
