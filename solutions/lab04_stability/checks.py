"""The checks of lab 4: which scenario keeps which promise of the contract.

The functions under test measure and train models that the grader makes out of torch's own layers, so torch's normalization
runs in every check (`builtins`). Whether a function leaves a model as it was is a check of its own: a fault there costs
nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

from autograder.checks.check import Check, Draw, Lab, prediction
from autograder.trace.scenario import Scenario
from solutions.lab04_stability import measure, measure_training, steps
from solutions.lab04_stability import measuring_scenarios as measuring
from solutions.lab04_stability import table_scenarios as tables
from solutions.lab04_stability.mistakes import MISTAKES
from solutions.lab04_stability.plain import PLAIN

UNCHANGED = "* is unchanged"
MANNERS = ("result", "* keeps its *", UNCHANGED)
NUMBERS = ("argument 0: *", "model: *")

ASKED = {
    "stab-predict-printed": ("predicted_printed", "what the first version prints for batches of 4"),
    "stab-predict-scaled": ("predicted_printed_scaled", "what it prints for other data"),
    "stab-predict-spread": ("predicted_spread_of_two", "the spread of an output in batches of two"),
    "stab-predict-leak": ("predicted_leak_layer_norm", "how much layer norm leaks"),
}


def _check(
    topic: str,
    exercise: str,
    points: float,
    title: str,
    scenarios: Callable[[Draw], tuple[Scenario, ...]],
    keys: tuple[str, ...] = ("result",),
    raises: tuple[str, ...] = ("ValueError",),
) -> Check:
    return Check(f"stab-{topic}", exercise, points, title, scenarios, keys, builtins=True, raises=raises)


def _manners(topic: str, exercise: str, points: float) -> Check:
    title = "the layer and the arguments stay as they were"
    return _check(topic, exercise, points, title, lambda draw: measuring.manners(draw, exercise), MANNERS)


CHECKS = (
    *(prediction(name, target, title) for name, (target, title) in ASKED.items()),
    _check("printed", "printed_stability", 3, "the number that the first version printed", measuring.printed),
    _check("outputs", "outputs_with_companions", 6, "the outputs of one example among others", measuring.outputs),
    _manners("outputs-manners", "outputs_with_companions", 4),
    _check("spread", "spread", 4, "one number from K draws", measuring.spreads, ("result", UNCHANGED)),
    _check("gradients", "input_gradients", 6, "the gradients of one example among others", measuring.gradients),
    _manners("gradients-manners", "input_gradients", 4),
    _check("leak", "leak", 5, "how far one example's output answers to another's input", measuring.leaks),
    _manners("leak-manners", "leak", 2),
    _check("table", "stability_table", 4, "spreads by layer and batch size", tables.table),
    _check(
        "refusals",
        "stability_table",
        3,
        "nan where a layer refuses the batch, and only there",
        tables.refusals,
        raises=("ValueError", "RuntimeError", "TypeError"),
    ),
    _check(
        "table-manners",
        "stability_table",
        1,
        "the layers and the arguments stay as they were",
        tables.table_manners,
        MANNERS,
    ),
    _check(
        "losses",
        "train_on_batches",
        3,
        "the loss of each batch before its update",
        tables.training,
        ("result[?]", "len(result)"),
    ),
    _check("updates", "train_on_batches", 5, "plain gradient descent, one step a batch", tables.training, NUMBERS),
    _check(
        "train-manners",
        "train_on_batches",
        2,
        "the modes come back, the data stay",
        tables.training_manners,
        ("* keeps its *", UNCHANGED, "len(result)"),
    ),
    _check("error-evaluation", "error_rate", 2, "the error in evaluation mode", tables.error_in_evaluation),
    _check("error-batch", "error_rate", 4, "the error with batch statistics", tables.error_in_batches),
    _check(
        "error-manners",
        "error_rate",
        3,
        "the model and the arguments stay as they were",
        tables.error_manners,
        MANNERS,
    ),
    _check(
        "seeds",
        "seed_summary",
        4,
        "mean and standard deviation over seeds",
        tables.summary,
        ("result[?]", "len(result)", UNCHANGED),
    ),
)

LAB = Lab(
    name="lab04_stability",
    title="Stability",
    contract=(
        "printed_stability",
        "outputs_with_companions",
        "spread",
        "input_gradients",
        "leak",
        "stability_table",
        "train_on_batches",
        "error_rate",
        "seed_summary",
    ),
    checks=CHECKS,
    reference={
        "printed_stability": measure.printed_stability,
        "outputs_with_companions": measure.outputs_with_companions,
        "spread": measure.spread,
        "input_gradients": measure.input_gradients,
        "leak": measure.leak,
        "stability_table": measure.stability_table,
        "train_on_batches": measure_training.train_on_batches,
        "error_rate": measure_training.error_rate,
        "seed_summary": measure_training.seed_summary,
        **steps.PREDICTIONS,
    },
    mistakes=MISTAKES,
    plain=PLAIN,
)
