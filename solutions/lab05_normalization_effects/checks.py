"""The checks of lab 5: which scenario keeps which promise. Functions that measure are graded as strictly as layers.

They run on models and data of the grader's; `measuring_scenarios` and `modes_scenarios` draw them. Every check looks at what it
is for: what a function returns, or what it leaves of the model it was given.
"""

from __future__ import annotations

from collections.abc import Callable

from autograder.checks.check import Check, Draw, Lab, prediction
from autograder.trace.scenario import Scenario
from solutions.lab05_normalization_effects import measure, measure_modes, steps
from solutions.lab05_normalization_effects import measuring_scenarios as measuring
from solutions.lab05_normalization_effects import modes_scenarios as modes
from solutions.lab05_normalization_effects.mistakes import MISTAKES
from solutions.lab05_normalization_effects.plain import PLAIN

UNCHANGED = "* is unchanged"
UNTOUCHED = ("* keeps its *", UNCHANGED)
# After a training the gradients are the function's own business.
AFTER_TRAINING = ("argument 0: *running*", "argument 0: *tracked", *UNTOUCHED)
# Numbers of the running statistics are the averages' business, so that one fault costs one check.
AFTER_AVERAGING = ("*: *weight", "*: *bias", "*: *tracked", *UNTOUCHED)


def _check(
    name: str,
    target: str,
    points: float,
    title: str,
    scenarios: Callable[[Draw], tuple[Scenario, ...]],
    *keys: str,
    contract: bool = True,
) -> Check:
    return Check(f"fx-{name}", target, points, title, scenarios, keys, contract=contract, builtins=True)


CHECKS = (
    prediction("fx-predict-shift", "predicted_shift", "how far one unit has moved"),
    prediction("fx-predict-running-var", "predicted_running_var", "the running variance after re-estimation"),
    prediction("fx-predict-first-change", "predicted_first_change", "how the first layer's gradient changes"),
    _check(
        "units", "unit_statistics", 2, "mean and biased deviation of each unit", measuring.units, "result[?]", UNCHANGED,
        contract=False,
    ),
    _check(
        "gradients", "loss_gradients", 2, "gradients of the mean cross-entropy, nothing left in .grad",
        measuring.gradients, "result[*]", "len(result)", "* keeps its gradients", contract=False,
    ),
    _check("stats-mean", "preactivation_statistics", 2, "the mean of each unit", measuring.values, "result[*][0]"),
    _check("stats-std", "preactivation_statistics", 2, "the biased deviation of each unit", measuring.values, "result[*][1]"),
    _check(
        "stats-points", "preactivation_statistics", 3, "outputs of the linear layers and of nothing else",
        measuring.points, "len(result)", "result[*][0]",
    ),
    _check(
        "stats-manners", "preactivation_statistics", 3, "the model and x stay as they were", measuring.statistics_manners,
        *UNTOUCHED,
    ),
    _check(
        "track-history", "track_training", 4, "the probe before the first update and after each", measuring.histories,
        "len(result)", "result[*][?]",
    ),
    _check(
        "track-model", "track_training", 4, "the weights after plain SGD", measuring.trained_models,
        "*: *weight", "*: *bias",
    ),
    _check(
        "track-running", "track_training", 3, "running statistics moved by the batches alone, modes put back",
        measuring.trained_running, *AFTER_TRAINING,
    ),
    _check("drift-moved", "drift", 3, "how far the means moved", measuring.steps, "result[0]", UNCHANGED),
    _check("drift-widened", "drift", 2, "how much the deviations changed", measuring.steps, "result[1]"),
    _check("drift-lag", "drift", 2, "other lags; ValueError without two times", measuring.lags, "result[?]"),
    _check(
        "gap-losses", "train_eval_gap", 3, "the loss with each kind of statistics", modes.gaps,
        "result['batch']", "result['running']",
    ),
    _check("gap-changed", "train_eval_gap", 2, "the share of changed predictions", modes.gaps, "result['changed']"),
    _check("gap-manners", "train_eval_gap", 2, "the model and the data stay as they were", modes.gap_manners, *UNTOUCHED),
    _check(
        "precise-average", "reestimate", 4, "plain averages over the batches", modes.averages, "*running_mean",
        "*running_var",
    ),
    _check(
        "precise-manners", "reestimate", 3, "count, momentum, modes, parameters", modes.precise_manners, *AFTER_AVERAGING
    ),
    _check("precise-errors", "reestimate", 1, "ValueError without batches", modes.precise_errors),
    _check("change-norm", "gradient_change", 2, "the norm of the gradient", modes.gradients_at_layers, "result['norm']"),
    _check("change-change", "gradient_change", 4, "the norm of its change", modes.changes, "result['change']"),
    _check("change-cosine", "gradient_change", 2, "the cosine of both gradients", modes.gradients_at_layers, "result['cosine']"),
    _check(
        "change-manners", "gradient_change", 3, "the model and the data stay as they were", modes.change_manners, *UNTOUCHED
    ),
    _check("compare-mean", "compare", 3, "the mean drift over seeds", measuring.makers, "result[*][0]", UNCHANGED),
    _check("compare-bars", "compare", 2, "the error bars over seeds", measuring.makers, "result[*][1]"),
    _check("compare-matched", "compare", 2, "ValueError without matched points or seeds", measuring.mismatches),
)  # fmt: skip

LAB = Lab(
    name="lab05_normalization_effects",
    title="What normalization does in training",
    contract=(
        "preactivation_statistics", "track_training", "drift", "train_eval_gap", "reestimate", "gradient_change", "compare",
    ),
    checks=CHECKS,
    reference={
        "unit_statistics": measure.unit_statistics,
        "loss_gradients": measure.loss_gradients,
        "preactivation_statistics": measure.preactivation_statistics,
        "track_training": measure.track_training,
        "drift": measure.drift,
        "train_eval_gap": measure_modes.train_eval_gap,
        "reestimate": measure_modes.reestimate,
        "gradient_change": measure_modes.gradient_change,
        "compare": measure.compare,
        **steps.PREDICTIONS,
    },
    mistakes=MISTAKES,
    plain=PLAIN,
)  # fmt: skip
