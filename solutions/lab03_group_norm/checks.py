"""The checks of lab 3: which scenario keeps which promise of the contract.

What is asked stands in `group_scenarios`, `instance_scenarios` and `function_scenarios`. `docs/labs/matrix.md` shows which mistake
fails which check.
"""

from __future__ import annotations

from collections.abc import Callable

from autograder.checks.check import Check, Draw, Lab, prediction
from autograder.trace.scenario import Scenario
from solutions.lab03_group_norm import function_scenarios as function
from solutions.lab03_group_norm import group_scenarios as group
from solutions.lab03_group_norm import instance_scenarios as instance
from solutions.lab03_group_norm import references, steps
from solutions.lab03_group_norm.mistakes import MISTAKES
from solutions.lab03_group_norm.plain import PLAIN

TENSORS = tuple(f"{what}m.{name}" for what in ("", "kind of ", "shape of ") for name in ("weight", "bias"))
STATE = ("parameters", "state_dict keys", *TENSORS)
GRADIENTS = ("x.grad", "m.*.grad")
EARLIER = "the earlier y *"
# Where a contract leaves the kind of an error open, the reference raises a plain Exception (see references).
REFUSED = ("ValueError", "Exception")

Scenarios = Callable[[Draw], tuple[Scenario, ...]]


def _predictions() -> tuple[Check, ...]:
    asked = {
        "gn-predict-batch": ("predicted_means_batch", "how many means batch norm takes"),
        "gn-predict-layer": ("predicted_means_layer", "how many means layer norm over (L, C) takes"),
        "gn-predict-token": ("predicted_means_token", "how many means layer norm over C takes"),
        "gn-predict-group": ("predicted_means_group", "how many means group norm takes"),
        "gn-predict-one-group": ("predicted_one_group", "one group: the first output"),
        "gn-predict-pairs": ("predicted_pairs", "two values per group: the last output"),
        "gn-predict-singles": ("predicted_singles", "one value per group: the last output"),
    }

    return tuple(prediction(name, target, title) for name, (target, title) in asked.items())


def _step(name: str, points: float, title: str, target: str, scenarios: Scenarios, *keys: str) -> Check:
    return Check(name, target, points, title, scenarios, keys or ("result",), contract=False)


BACKWARD_STEPS = tuple(
    _step(
        f"gnb-{key.replace('_', '-')}",
        1,
        title,
        "group_backward_steps",
        function.backward_steps,
        f"result['{key}']",
    )
    for key, title in {
        "mean": "the mean of each group",
        "var": "the biased variance of each group",
        "x_hat": "the normalized input, in groups",
        "grad_x_hat": "the gradient that reaches x_hat, in groups",
        "grad_var": "the gradient of the variance, summed over the group",
        "grad_mean": "the gradient of the mean, summed over the group",
        "grad_x": "the three paths back to x, added up and put back",
    }.items()
)


def _group(promise: str, points: float, title: str, scenarios: Scenarios, *keys: str) -> Check:
    return Check(f"gn-{promise}", "GroupNorm", points, title, scenarios, keys, raises=REFUSED)


def _instance(promise: str, points: float, title: str, scenarios: Scenarios, *keys: str) -> Check:
    return Check(f"in2d-{promise}", "InstanceNorm2d", points, title, scenarios, keys, raises=REFUSED)


def _backward(promise: str, points: float, title: str, scenarios: Scenarios, *keys: str) -> Check:
    return Check(f"gnb-{promise}", "group_norm_backward", points, title, scenarios, keys, autograd=False)


LAYERS = (
    _group("interface", 3, "constructor, parameters and state dictionary", group.interface, *STATE, "forward*"),
    _group("output", 5, "the output for (N, C, L): groups, formula, weight and bias", group.output, "y", EARLIER),
    _group("shapes", 4, "input (N, C, *) of any rank", group.shapes, "y"),
    _group("options", 2, "eps and affine", group.options, "y", "x.grad", *STATE),
    _group("errors", 2, "C that G does not divide, a wrong C, one axis", group.errors),
    _group("gradients", 4, "gradients, whatever is frozen", group.gradients, *GRADIENTS, "grad_out *"),
    _group("numerics", 3, "float32, strided input, a large mean, x left alone", group.numerics, "y", *GRADIENTS, "x *"),
    _instance("interface", 2, "constructor, parameters, nothing tracked", instance.interface, "y", *STATE, "forward*"),
    _instance("output", 3, "the output, the same in both modes", instance.output, "y", EARLIER),
    _instance("errors", 2, "one pixel, a wrong rank, a wrong C", instance.errors),
    _instance("gradients", 2, "gradients, whatever is frozen", instance.gradients, *GRADIENTS, "grad_out *"),
    _instance(
        "numerics", 2, "float32, strided input, a large mean, x left alone", instance.numerics, "y", *GRADIENTS, "x *"
    ),
)

CHECKS = (
    *_predictions(),
    Check(
        "shape-values",
        "statistics_shape",
        3,
        "the shape of the statistics, for all four kinds",
        function.statistics_shapes,
        ("result*", "len(result)"),
    ),
    Check(
        "shape-errors",
        "statistics_shape",
        1,
        "an error for a kind that is none of the four",
        function.unknown_kinds,
        (),
        contract=False,  # the task text asks for it, the contract leaves it open
        raises=REFUSED,
    ),
    _step("gn-step-to-groups", 2, "cut the channels into groups", "to_groups", function.grouping),
    _step(
        "gn-step-statistics", 1, "mean and variance of each group", "group_statistics", function.statistics, "result[?]"
    ),
    _step("gn-step-normalize", 1, "centre and scale", "normalize_groups", function.normalizing),
    _step("gn-step-from-groups", 1, "put the groups back", "from_groups", function.ungrouping),
    _step("gn-step-scale", 2, "weight and bias per channel", "scale_channels", function.scaling),
    *LAYERS,
    *BACKWARD_STEPS,
    _backward("input", 4, "the gradient of x", function.backward_values, "result[0]"),
    _backward("parameters", 3, "the gradients of weight and bias", function.backward_values, "result[1]", "result[2]"),
    _backward(
        "numerics",
        3,
        "eps, dtypes, layouts, small variances, arguments left alone",
        function.backward_numerics,
        "result[?]",
        "len(result)",
        "* is unchanged",
    ),
)

LAB = Lab(
    name="lab03_group_norm",
    title="Group normalization",
    contract=("GroupNorm", "group_norm_backward", "InstanceNorm2d", "statistics_shape"),
    checks=CHECKS,
    reference={
        "GroupNorm": references.GroupNorm,
        "InstanceNorm2d": references.InstanceNorm2d,
        "statistics_shape": references.statistics_shape,
        "group_norm_backward": references.group_norm_backward,
        "to_groups": steps.to_groups,
        "group_statistics": steps.group_statistics,
        "normalize_groups": steps.normalize_groups,
        "from_groups": steps.from_groups,
        "scale_channels": steps.scale_channels,
        "group_backward_steps": steps.group_backward_steps,
        **steps.PREDICTIONS,
    },
    mistakes=MISTAKES,
    plain=PLAIN,
)
