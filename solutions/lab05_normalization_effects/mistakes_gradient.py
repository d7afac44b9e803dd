"""Mistakes in `gradient_change`: other parameters updated, another gradient, another distance, a model that stays changed."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab05_normalization_effects.plain import Edit, wrong

COPY = "    model = copy.deepcopy(model)\n    model.train()\n"
LINEAR = "    linear = [m for m in model.modules() if isinstance(m, nn.Linear)][layer]\n"
SEARCH = """\
    below = []
    for p in model.parameters():
        if p is linear.weight:
            break
        below.append(p)
"""
FIRST = "    loss = F.cross_entropy(model(x), classes)\n    *grads"
SECOND = "    loss = F.cross_entropy(model(x), classes)\n    new"
STEP = "p -= lr * g"
NEW = "new = torch.autograd.grad(loss, linear.weight)[0]"
NORM = "norm = old.norm()"
CHANGE = "change = (old - new).norm()"
COSINE = "cosine = (old * new).sum() / (old.norm() * new.norm())"
RETURN = '    return {"norm"'
MODES = "    modes = [(m, m.training) for m in model.modules()]\n"
PUT_MODES = "    for m, training in modes:\n        m.training = training\n"
KEEP = "    kept = {k: v.clone() for k, v in model.state_dict().items()}\n"
PUT_BACK = "    model.load_state_dict(kept)\n"


def _wrong(ident: str, topic: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit) -> Mistake:
    return wrong("gradient_change", ident, topic, title, symptom, hint, anchor, *edits)


NORM_MISTAKES: tuple[Mistake, ...] = (
    _wrong(
        "evaluation-mode", "norm",
        "The gradients are taken in evaluation mode",
        "Nets without batch norm are right.",
        "In which mode does the net take the gradients that train it?",
        "gradient-change",
        ("    model.train()\n", "    model.eval()\n"),
    ),
    _wrong(
        "mode-as-given", "norm",
        "The gradients are taken in whatever mode the model has",
        "Right for a net in training mode; one with batch norm that is in evaluation mode is wrong.",
        "Who makes sure that both gradients are those of training?",
        "train-eval-gap",
        ("    model.train()\n", ""),
    ),
    _wrong(
        "summed-loss", "norm",
        "The loss is summed over the examples, not averaged",
        "The norm grows with the number of examples, and the step below is too long.",
        "Which loss does the task take the gradient of?",
        "fair-comparison",
        (FIRST, FIRST.replace("classes)", "classes, reduction='sum')")),
        (SECOND, SECOND.replace("classes)", "classes, reduction='sum')")),
    ),
    _wrong(
        "counts-from-one", "norm",
        "The layers are counted from 1",
        "Every answer is about the layer before; layer 0 is the last one.",
        "Which layer is layer 0?",
        "gradient-change",
        ("][layer]\n", "][layer - 1]\n"),
    ),
    _wrong(
        "root-mean-square", "norm",
        "The mean of the squares stands under the root, not their sum",
        "All norms are too small by the root of the number of weights.",
        "Which norm do the two bars stand for? It does not divide.",
        "gradient-change",
        (NORM, "norm = old.square().mean().sqrt()"),
        (CHANGE, "change = (old - new).square().mean().sqrt()"),
    ),
)  # fmt: skip

CHANGE_MISTAKES: tuple[Mistake, ...] = (
    _wrong(
        "everything-updated", "change",
        "All parameters take the step, not only those below",
        "The change is not 0 for the first layer, below which there is nothing.",
        "The measure asks what the others do to this layer. What happens if the layer moves too?",
        "gradient-change",
        (SEARCH, "    below = list(model.parameters())\n"),
    ),
    _wrong(
        "layer-updated-too", "change",
        "The layer itself takes the step as well",
        "The change is not 0 for the first layer, below which there is nothing.",
        "Which parameters must be the same in both gradients, so that the difference is due to the others?",
        "gradient-change",
        ("            break\n", "            below.append(p)\n            break\n"),
    ),
    _wrong(
        "above-updated", "change",
        "The layers above take the step in place of those below",
        "The change is 0 for the last layer and not for the first.",
        "On which side of the layer lie its inputs?",
        "gradient-change",
        (SEARCH, "    everything = list(model.parameters())\n    place = [p is linear.weight for p in everything].index(True)\n"
         "    below = everything[place + 1 :]\n"),
    ),
    _wrong(
        "nearest-only", "change",
        "Only the layer directly below takes the step",
        "Right for the second layer; for higher ones the change is too small.",
        "How many layers can be below?",
        "gradient-change",
        (FIRST, "    layers = [m for m in model.modules() if isinstance(m, nn.Linear)]\n"
         "    start = 0 if layer < 2 else [p is layers[layer - 1].weight for p in below].index(True)\n"
         "    below = below[start:]\n" + FIRST),
    ),
    _wrong(
        "norms-left-out", "change",
        "Only linear layers take the step, normalization layers below do not",
        "Nets without normalization are right.",
        "Which parameters of a batch norm are learned?",
        "gradient-change",
        (FIRST, "    learned = [p for m in model.modules() if isinstance(m, nn.Linear) for p in m.parameters()]\n"
         "    below = [p for p in below if any(p is q for q in learned)]\n" + FIRST),
    ),
    _wrong(
        "biases-left-out", "change",
        "Only weights take the step, biases do not",
        "The change is a little off.",
        "List the parameters below and mark those that your step reaches.",
        "gradient-change",
        (FIRST, "    below = [p for p in below if p.dim() > 1]\n" + FIRST),
    ),
    _wrong(
        "upward", "change",
        "The step goes up the gradient",
        "Nearly the same change for a tiny lr; another one for a real step.",
        "Which way does training go?",
        "gradient-change",
        (STEP, "p += lr * g"),
    ),
    _wrong(
        "other-batch", "change",
        "The second gradient is taken on other examples than the first",
        "The change is not 0 for the first layer, below which there is nothing.",
        "If examples and weights both differ between two gradients, which of them caused the change?",
        "gradient-change",
        (SECOND, SECOND.replace("model(x), classes)", "model(x[1:]), classes[1:])")),
    ),
    _wrong(
        "relative", "change",
        "The change is divided by the norm of the gradient",
        "The change does not grow when the loss is scaled.",
        "That ratio is a good number to compare; but what does the key promise?",
        "gradient-change",
        (CHANGE, CHANGE + " / norm"),
    ),
    _wrong(
        "difference-of-norms", "change",
        "The difference of the two norms is taken for the norm of the difference",
        "A gradient that turns without growing seems not to change.",
        "Two arrows of the same length that point apart: how far are their heads from one another?",
        "gradient-change",
        (CHANGE, "change = (old.norm() - new.norm()).abs()"),
    ),
    _wrong(
        "squared", "change",
        "The square of the distance is returned",
        "Small changes look tiny, large ones huge.",
        "What stands between the two bars, and is there a square outside?",
        "gradient-change",
        (CHANGE, "change = (old - new).square().sum()"),
    ),
)  # fmt: skip

COSINE_MISTAKES: tuple[Mistake, ...] = (
    _wrong(
        "not-normalized", "cosine",
        "The inner product is returned without being divided by the norms",
        "The cosine is not 1 where nothing changes.",
        "What is the cosine of a vector with itself?",
        "gradient-change",
        (COSINE, "cosine = (old * new).sum()"),
    ),
    _wrong(
        "row-by-row", "cosine",
        "A cosine is taken for each row, and these are averaged",
        "Right for a layer with one unit.",
        "The gradient of a layer is one vector, however it is folded.",
        "gradient-change",
        (COSINE, "cosine = F.cosine_similarity(old, new, dim=1).mean()"),
    ),
    _wrong(
        "distance", "cosine",
        "One minus the cosine is returned",
        "It is 0 where nothing changes.",
        "What should two equal gradients give?",
        "gradient-change",
        (COSINE, COSINE.replace("cosine = ", "cosine = 1 - ")),
    ),
    _wrong(
        "angle-to-the-change", "cosine",
        "The cosine is taken between the gradient and its change",
        "It is not a number where nothing changes.",
        "Which two vectors should the angle lie between?",
        "gradient-change",
        (COSINE, "cosine = (old * (old - new)).sum() / (old.norm() * (old - new).norm())"),
    ),
)  # fmt: skip

CHANGE_MANNERS: tuple[Mistake, ...] = (
    _wrong(
        "step-stays", "manners",
        "The step is not taken back",
        "After the call the lower layers have learned something.",
        "A measurement tells what would happen. What has happened to the model?",
        "hooks-and-measuring",
        (COPY, MODES + "    kept = {k: b.clone() for k, b in model.named_buffers()}\n    model.train()\n"),
        (RETURN, PUT_MODES + "    for k, b in model.named_buffers():\n        b.copy_(kept[k])\n" + RETURN),
    ),
    _wrong(
        "running-moved", "manners",
        "The passes in training mode move the running statistics",
        "Weights and modes are as before; running_mean, running_var and the count are not.",
        "Parameters are not all that a model keeps.",
        "hooks-and-measuring",
        (COPY, MODES + "    kept = [p.detach().clone() for p in model.parameters()]\n    model.train()\n"),
        (
            RETURN,
            PUT_MODES + "    with torch.no_grad():\n        for p, old_p in zip(model.parameters(), kept):\n"
            "            p.copy_(old_p)\n" + RETURN,
        ),
    ),
    _wrong(
        "gradients-stay", "manners",
        "Gradients are left in .grad",
        "The next training step adds its gradients to these.",
        "backward() writes into the model. Is there a function that returns gradients and writes nothing?",
        "hooks-and-measuring",
        (COPY, MODES + KEEP + "    model.train()\n"),
        (RETURN, "    F.cross_entropy(model(x), classes).backward()\n" + PUT_MODES + PUT_BACK + RETURN),
    ),
    _wrong(
        "left-in-training", "manners",
        "The model is left in training mode",
        "A net that was given in evaluation mode answers with batch statistics afterwards.",
        "Which modes had the modules before you switched them?",
        "hooks-and-measuring",
        (COPY, KEEP + "    model.train()\n"),
        (RETURN, PUT_BACK + RETURN),
    ),
)  # fmt: skip

GRADIENT_MISTAKES = (*NORM_MISTAKES, *CHANGE_MISTAKES, *COSINE_MISTAKES, *CHANGE_MANNERS)
