"""Mistakes in `train_eval_gap`: modes mixed up, another share, a model that is not what it was."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab05_normalization_effects.plain import Edit, wrong

COPY = "copied = copy.deepcopy(model)"
BOTH = """\
        copied.eval()
        evaluated = copied(x)
        copied.train()
        trained = copied(x)
"""
DIFFERENT = "different = trained.argmax(dim=1) != evaluated.argmax(dim=1)"
CHANGED = "changed = different.double().mean()"


def _gap(ident: str, topic: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit) -> Mistake:
    return wrong("train_eval_gap", ident, topic, title, symptom, hint, anchor, *edits)


GAP_MISTAKES: tuple[Mistake, ...] = (
    _gap(
        "training-first", "losses",
        "The pass in training mode moves the running statistics before they are used",
        "The gap is too small: evaluation has already seen a share of these very examples.",
        "In which order do your two passes come, and what does the first one change?",
        "train-eval-gap",
        (BOTH, "        copied.train()\n        trained = copied(x)\n        copied.eval()\n        evaluated = copied(x)\n"),
    ),
    _gap(
        "swapped", "losses",
        "The two losses are swapped",
        "Each number stands under the other one's name.",
        "Which mode uses the statistics of the batch?",
        "train-eval-gap",
        ('"batch": batch.item(), "running": running.item()', '"batch": running.item(), "running": batch.item()'),
    ),
    _gap(
        "no-evaluation", "losses",
        "The model is never switched to evaluation mode",
        "Both losses are equal, and nothing ever changes.",
        "torch.no_grad() is not a mode of the model. What switches batch norm to its running statistics?",
        "train-eval-gap",
        ("        copied.eval()\n", "        copied.train()\n"),
    ),
    _gap(
        "mode-as-given", "losses",
        "The pass with the batch's statistics runs in whatever mode the model has",
        "Right for a model in training mode; one in evaluation mode has no gap.",
        "Who makes sure that each pass runs in its mode?",
        "train-eval-gap",
        (BOTH, "        trained = copy.deepcopy(copied)(x)\n        evaluated = copied.eval()(x)\n"),
    ),
    _gap(
        "summed", "losses",
        "The losses are summed over the examples",
        "Both losses grow with the number of examples.",
        "Should a loss on 1000 examples be comparable with one on 100?",
        "fair-comparison",
        ("F.cross_entropy(trained, classes)", "F.cross_entropy(trained, classes, reduction='sum')"),
        ("F.cross_entropy(evaluated, classes)", "F.cross_entropy(evaluated, classes, reduction='sum')"),
    ),
    _gap(
        "difference-of-error-rates", "changed",
        "The difference of the two error rates is taken for the share of changed predictions",
        "Two examples that change in opposite directions count as none.",
        "Averages can be equal while every single example differs. At which level must you compare?",
        "artefacts-of-measuring",
        (CHANGED, "a, b = [(y.argmax(1) != classes).double().mean() for y in (trained, evaluated)]\n"
         "        changed = (a - b).abs()"),
    ),
    _gap(
        "unchanged-share", "changed",
        "The share of the unchanged predictions is returned",
        "A net without batch norm shows 1.",
        "What should a net show whose two modes are the same?",
        "train-eval-gap",
        (DIFFERENT, DIFFERENT.replace("!=", "==")),
    ),
    _gap(
        "logits-compared", "changed",
        "Logits are compared, not predicted classes",
        "Nearly everything counts as changed.",
        "A logit that moves by 0.001 changes no prediction. Which function turns logits into a class?",
        "train-eval-gap",
        (DIFFERENT, "different = (trained != evaluated).any(dim=1)"),
    ),
    _gap(
        "running-moved", "manners",
        "Measuring the gap moves the model's running statistics",
        "A second measurement gives another gap than the first.",
        "The pass in training mode remembers these examples. Where, and who makes it forget?",
        "hooks-and-measuring",
        (COPY, "copied = model\n    modes = [(m, m.training) for m in model.modules()]"),
        ('    return {"batch"', '    for m, training in modes:\n        m.training = training\n    return {"batch"'),
    ),
    _gap(
        "one-mode-for-all", "manners",
        "One flag is kept for the whole model and given to all of its modules",
        "A part that was frozen in evaluation mode, inside a model in training mode, is in training mode afterwards.",
        "Which modules have a mode of their own? Print the flag of each before and after the call.",
        "hooks-and-measuring",
        ('    return {"batch"', '    model.train(model.training)\n    return {"batch"'),
    ),
    _gap(
        "left-in-evaluation", "manners",
        "The model is left in evaluation mode",
        "Training goes on with the running statistics, and they move no more.",
        "Which mode did the model have before?",
        "hooks-and-measuring",
        ('    return {"batch"', '    model.eval()\n    return {"batch"'),
    ),
)  # fmt: skip
