"""Mistakes in leak: whose output, whose input, which length, and what is left behind."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab04_stability.mistakes_gradients import TAKEN
from solutions.lab04_stability.mistakes_outputs import ITSELF, MODE_BACK, NUMBERS_BACK, NUMBERS_KEPT
from solutions.lab04_stability.plain import IN_TRAINING, Edit, mistake

LEAK_LOSS = "loss = (y[i] * grad_out).sum()"
LENGTH = "    return gradient[j].norm().item()\n"


def _leak(ident: str, check: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit) -> Mistake:
    return mistake("leak", f"leak-{ident}", check, title, symptom, hint, anchor, *edits)


LEAK: tuple[Mistake, ...] = (
    _leak(
        "i-and-j-swapped",
        "leak",
        "i and j are exchanged",
        "Right for batch norm alone, which is symmetric; wrong as soon as a nonlinearity follows.",
        "Whose output is differentiated, and with respect to whose input? Read the order of the arguments again.",
        "leak-between-examples",
        (LEAK_LOSS, "loss = (y[j] * grad_out).sum()"),
        (LENGTH, "    return gradient[i].norm().item()\n"),
    ),
    _leak(
        "onto-itself",
        "leak",
        "The gradient with respect to the example's own input is taken",
        "Layer norm seems to leak as much as batch norm.",
        "Every output depends on its own input. Which row of the gradient tells about another one's?",
        "leak-between-examples",
        (LENGTH, "    return gradient[i].norm().item()\n"),
    ),
    _leak(
        "of-all-outputs",
        "leak",
        "The outputs of all examples are in the sum that is differentiated",
        "0 for batch norm, and not 0 for layer norm: the wrong way round.",
        "Every example's output moves with its own input. Which single row of y should be in the sum?",
        "leak-between-examples",
        (LEAK_LOSS, "loss = (y * grad_out).sum()"),
    ),
    _leak(
        "squared",
        "leak",
        "The squared length is returned",
        "A leak of 0.1 is reported as 0.01.",
        "The Euclidean norm is a root. In which unit is your number?",
        "leak-between-examples",
        (LENGTH, "    return (gradient[j] ** 2).sum().item()\n"),
    ),
    _leak(
        "absolute-values",
        "leak",
        "Absolute values are added up, which is another norm",
        "Too large, up to the root of C.",
        "Which norm is the length of an arrow?",
        "leak-between-examples",
        (LENGTH, "    return gradient[j].abs().sum().item()\n"),
    ),
    _leak(
        "signed-sum",
        "leak",
        "The entries of the gradient are added with their signs",
        "Entries of opposite signs cancel: some leaks seem to be near 0, some are negative.",
        "Can a length be negative?",
        "artefacts-of-measuring",
        (LENGTH, "    return gradient[j].sum().item()\n"),
    ),
    _leak(
        "per-feature",
        "leak",
        "The root of a mean is taken, not the length",
        "Too small by the root of C.",
        "Does the Euclidean norm divide by the number of entries?",
        "leak-between-examples",
        (LENGTH, "    return gradient[j].square().mean().sqrt().item()\n"),
    ),
    _leak(
        "whole-gradient",
        "leak",
        "The length of the gradient with respect to all inputs is returned",
        "Not 0 for layer norm, and the same for every j.",
        "What does j do in your function?",
        "leak-between-examples",
        (LENGTH, "    return gradient.norm().item()\n"),
    ),
    _leak(
        "upstream-ignored",
        "leak",
        "grad_out is ignored",
        "Right only where grad_out is 1 everywhere.",
        "Where does grad_out appear in your function?",
        "bn-backward",
        (LEAK_LOSS, "loss = y[i].sum()"),
    ),
    _leak(
        "in-evaluation",
        "leak",
        "The leak is taken in evaluation mode",
        "0 for batch norm as well.",
        "Which statistics does batch norm use in evaluation mode, and does another example stand in them?",
        "train-eval-gap",
        (IN_TRAINING, "    model.eval()\n"),
    ),
    _leak(
        "mode-as-it-comes",
        "leak",
        "The mode is left as it comes",
        "Right for a layer in training mode, 0 for one in evaluation mode.",
        "Who decides the mode here: whoever used the layer last, or the question that you ask?",
        "train-eval-gap",
        (IN_TRAINING, ""),
    ),
    _leak(
        "accumulated-in-parameters",
        "leak-manners",
        "The layer's parameters have gradients afterwards, or do not want any more",
        "The next training step adds the measurement to its own gradient.",
        "backward fills .grad of everything that wants a gradient, not of x alone.",
        "hooks-and-measuring",
        NUMBERS_KEPT,
        (IN_TRAINING, "    modes = [(module, module.training) for module in model.modules()]\n" + IN_TRAINING),
        (TAKEN, "loss.backward()\n    gradient = leaf.grad"),
        (
            LENGTH,
            NUMBERS_BACK + "    for module, training in modes:\n        module.training = training\n" + LENGTH,
        ),
    ),
    _leak(
        "moves-running-statistics",
        "leak-manners",
        "Measuring moves the layer's running statistics",
        "The layer evaluates differently after it has been measured.",
        "What does batch norm write down in every call in training mode?",
        "hooks-and-measuring",
        ITSELF,
        (LENGTH, MODE_BACK + LENGTH),
    ),
    _leak(
        "left-in-training",
        "leak-manners",
        "The layer is left in training mode",
        "A layer that came in evaluation mode is no longer in it.",
        "What was the layer's mode before you came?",
        "hooks-and-measuring",
        NUMBERS_KEPT,
        (LENGTH, NUMBERS_BACK + LENGTH),
    ),
)
