"""Mistakes in `reestimate`: averages that are none, layers that are missed, a model that keeps something it should not."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab05_normalization_effects.plain import Edit, edit, wrong

RESET = """\
        norm.running_mean.zero_()
        norm.running_var.fill_(1)
        norm.num_batches_tracked.zero_()
"""
NO_MOMENTUM = "        norm.momentum = None\n"
RUN = """\
    model.train()
    with torch.no_grad():
        for batch in batches:
            model(batch)
"""
PUT_MOMENTUM = "    for norm, momentum in zip(norms, momenta):\n        norm.momentum = momentum\n"
PUT_MODES = "    for m, training in modes:\n        m.training = training\n"
REFUSE = '    if len(batches) == 0:\n        raise ValueError("no batches")\n'
NORMS = "norms = [m for m in model.modules() if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))]"

# The other way to do it: hooks that see what goes into each batch norm. SEEN is what they keep of it.
BY_HOOKS = """\
import torch
from torch import nn


def reestimate(model, batches):
    if len(batches) == 0:
        raise ValueError("no batches")
    norms = [m for m in model.modules() if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))]
    modes = [(m, m.training) for m in model.modules()]
    seen = {norm: [] for norm in norms}

    def hook(norm, inputs):
        seen[norm].append(inputs[0].transpose(0, 1).flatten(1))

    handles = [norm.register_forward_pre_hook(hook) for norm in norms]
    model.train()
    with torch.no_grad():
        for batch in batches:
            model(batch)
        for norm, values in seen.items():
            mean = torch.stack([v.mean(dim=1) for v in values]).mean(dim=0)
            var = torch.stack([v.var(dim=1) for v in values]).mean(dim=0)
            norm.running_mean.copy_(mean)
            norm.running_var.copy_(var)
            norm.num_batches_tracked.fill_(len(batches))
    for handle in handles:
        handle.remove()
    for m, training in modes:
        m.training = training
"""
HOOKED_VAR = "var = torch.stack([v.var(dim=1) for v in values]).mean(dim=0)"
HOOKED_MEAN = "mean = torch.stack([v.mean(dim=1) for v in values]).mean(dim=0)"


def _precise(
    ident: str, topic: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit, hooks: bool = False
) -> Mistake:
    source = edit(BY_HOOKS, *edits) if hooks else None
    return wrong("reestimate", ident, topic, title, symptom, hint, anchor, *(() if hooks else edits), source=source)


PRECISE_MISTAKES: tuple[Mistake, ...] = (
    _precise(
        "exponential", "average",
        "The batches just pass through in training mode, with the layer's own momentum",
        "The old running statistics keep most of their weight.",
        "With momentum 0.1, how much do the old statistics weigh after three batches?",
        "re-estimation",
        (RESET, "        norm.num_batches_tracked.zero_()\n"),
        (NO_MOMENTUM, ""),
    ),
    _precise(
        "reset-then-exponential", "average",
        "The statistics are reset, and then averaged with the layer's own momentum",
        "They lie between the start (0 and 1) and what the batches say.",
        "What share does each of two batches get with momentum 0.1, and what share stays with the reset value?",
        "re-estimation",
        (NO_MOMENTUM, ""),
    ),
    _precise(
        "not-reset", "average",
        "The cumulative average goes on from the old count",
        "A model that was trained before hardly changes.",
        "momentum=None weighs by num_batches_tracked. What does it say when you begin?",
        "re-estimation",
        (RESET, ""),
        (PUT_MOMENTUM, PUT_MOMENTUM + "    for norm in norms:\n        norm.num_batches_tracked.fill_(len(batches))\n"),
    ),
    _precise(
        "last-batch", "average",
        "Only the last batch is left in the statistics",
        "Right for one batch; with more, the earlier ones do not matter.",
        "Which momentum forgets everything before?",
        "re-estimation",
        (NO_MOMENTUM, "        norm.momentum = 1.0\n"),
    ),
    _precise(
        "all-in-one-batch", "average",
        "All batches are put together and pass once",
        "The variance holds the differences between the batches too, and batches of different size weigh differently.",
        "The variance of all values is not the average of the variances. Which was asked?",
        "re-estimation",
        ("        for batch in batches:\n            model(batch)\n", "        model(torch.cat(tuple(batches)))\n"),
        (PUT_MOMENTUM, PUT_MOMENTUM + "    for norm in norms:\n        norm.num_batches_tracked.fill_(len(batches))\n"),
    ),
    _precise(
        "weighted-by-size", "average",
        "Large batches weigh more",
        "Right for batches of equal size.",
        "The task says what a plain average over batches is. Does the size of a batch enter it?",
        "re-estimation",
        (HOOKED_MEAN, "mean = sum(v.mean(dim=1) * v.shape[1] for v in values) / sum(v.shape[1] for v in values)"),
        (HOOKED_VAR, "var = sum(v.var(dim=1) * v.shape[1] for v in values) / sum(v.shape[1] for v in values)"),
        hooks=True,
    ),
    _precise(
        "biased-variance", "average",
        "running_var is the average of the biased variances",
        "Too small by (m-1)/m, most for small batches.",
        "Which variance does a batch norm of torch store, and which does it normalize with?",
        "bn-running-statistics",
        (HOOKED_VAR, "var = torch.stack([v.var(dim=1, correction=0) for v in values]).mean(dim=0)"),
        hooks=True,
    ),
    _precise(
        "lower-layers-in-evaluation", "average",
        "The batches pass in evaluation mode",
        "The first batch norm is right; those above see what the old running statistics of the lower ones make of it.",
        "The statistics of an upper layer depend on the mode of the lower ones. In which mode was the net trained?",
        "re-estimation",
        ("    model.train()\n", "    model.eval()\n"),
        hooks=True,
    ),
    _precise(
        "top-level-only", "average",
        "Norms inside blocks are not found",
        "Right for a flat nn.Sequential; in nested models the statistics are the exponential average.",
        "A model is a tree. Does your loop see only the first row of branches?",
        "hooks-and-measuring",
        (NORMS, NORMS.replace("model.modules()", "model.children()")),
    ),
    _precise(
        "works-on-a-copy", "average",
        "A copy is re-estimated, and the model that was given stays as it was",
        "Nothing changes, and the better statistics are thrown away.",
        "Whose running statistics should be other ones after the call?",
        "re-estimation",
        ("    norms = [", "    import copy\n\n    model = copy.deepcopy(model)\n    norms = ["),
    ),
    _precise(
        "momentum-lost", "manners",
        "momentum stays None",
        "The statistics are right; in further training the layer goes on averaging over everything.",
        "What did you change in the layers besides their statistics?",
        "re-estimation",
        (PUT_MOMENTUM, ""),
    ),
    _precise(
        "momentum-default", "manners",
        "momentum is set to 0.1, whatever it was",
        "Right for layers with the default; others learn at another pace afterwards.",
        "Each layer may have had its own. Who remembers it?",
        "re-estimation",
        (PUT_MOMENTUM, PUT_MOMENTUM.replace("norm.momentum = momentum", "norm.momentum = 0.1")),
    ),
    _precise(
        "left-in-training", "manners",
        "The model is left in training mode",
        "A net that was given in evaluation mode answers with batch statistics afterwards, and its new statistics go.",
        "Which modes had the modules before you switched them?",
        "hooks-and-measuring",
        (PUT_MODES, ""),
    ),
    _precise(
        "count-forgotten", "manners",
        "num_batches_tracked is not set",
        "The statistics are right; the count still tells of the training.",
        "A layer with momentum=None goes on from its count. How many batches are in the average now?",
        "re-estimation",
        ("            norm.num_batches_tracked.fill_(len(batches))\n", ""),
        hooks=True,
    ),
    _precise(
        "affine-reset", "manners",
        "weight and bias of the norms are reset with the statistics",
        "The net forgets what its normalization layers have learned.",
        "A batch norm has two methods that reset something. What does each of them reset?",
        "re-estimation",
        (RESET, "        norm.reset_parameters()\n"),
    ),
    _precise(
        "hooks-stay", "manners",
        "The hooks stay on the model",
        "The model keeps every later input alive.",
        "What did you hang on the model, and what took it off again?",
        "hooks-and-measuring",
        ("    for handle in handles:\n        handle.remove()\n", ""),
        hooks=True,
    ),
    _precise(
        "frozen", "manners",
        "The parameters want no gradient any more",
        "The next backward pass fails, or nothing learns.",
        "There is a way to run a model without a graph that leaves no mark on its parameters.",
        "hooks-and-measuring",
        ("    model.train()\n", "    model.train()\n    model.requires_grad_(False)\n"),
    ),
    _precise(
        "no-batches", "errors",
        "An empty list of batches is accepted",
        "The statistics are reset and stay at 0 and 1: the trained model is spoiled without a word.",
        "What is the average of nothing?",
        "re-estimation",
        (REFUSE, ""),
    ),
    _precise(
        "other-error", "errors",
        "An empty list of batches ends in another error than ValueError",
        "ZeroDivisionError, from somewhere inside.",
        "Refuse before you begin, and in the words that the task names.",
        "re-estimation",
        (REFUSE, "    1 / len(batches)\n"),
    ),
)  # fmt: skip
