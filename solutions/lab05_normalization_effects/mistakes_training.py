"""Mistakes in `track_training`: a history that is not one, another training, a training that its measuring disturbs."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab05_normalization_effects.plain import Edit, wrong

FIRST = "    times = [statistics(copy.deepcopy(model), probe)]\n"
LATER = "        times.append(statistics(copy.deepcopy(model), probe))\n"
LOSS = "        loss = F.cross_entropy(model(x[batch]), classes[batch])\n"
STEP = "p -= lr * g"
GRADIENTS = "        gradients = torch.autograd.grad(loss, list(model.parameters()))\n"
UPDATE = """\
        with torch.no_grad():
            for p, g in zip(model.parameters(), gradients):
                p -= lr * g
"""
TRAIN = "    model.train()\n"
RETURN = "    return history\n"
PUT_BACK = "    for m, training in modes:\n        m.training = training\n"


def _wrong(ident: str, topic: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit) -> Mistake:
    return wrong("track_training", ident, topic, title, symptom, hint, anchor, *edits)


HISTORY: tuple[Mistake, ...] = (
    _wrong(
        "start-left-out", "history",
        "The time before the first update is missing",
        "There are as many times as updates; one more is due.",
        "How many fence posts does a fence of three panels have?",
        "measuring-shift",
        (FIRST, "    times = []\n"),
        (RETURN, "    return history or [(torch.empty(0), torch.empty(0))]\n"),
    ),
    _wrong(
        "initialization-only", "history",
        "The model is measured once, before training, and that row is repeated",
        "All times are equal: nothing ever shifts.",
        "A shift needs two times. At how many different times does your code look at the model?",
        "measuring-shift",
        (LATER, "        times.append(times[0])\n"),
    ),
    _wrong(
        "behind-by-one", "history",
        "Each update is measured before it happens",
        "The first two times are equal, and the last update is missing.",
        "What stands first in your loop, the measurement or the update?",
        "measuring-shift",
        (LOSS, LATER + LOSS),
        (UPDATE + LATER, UPDATE),
    ),
    _wrong(
        "batch-for-probe", "history",
        "The training batch is measured in place of the probe",
        "The numbers change from time to time even with lr = 0, since other examples are looked at.",
        "If both the model and the data change between two times, which of them caused the difference?",
        "measuring-shift",
        (LATER, "        times.append(statistics(copy.deepcopy(model), x[batch]))\n"),
    ),
    _wrong(
        "probe-in-evaluation", "history",
        "The probe is measured in evaluation mode",
        "Nets without batch norm are right; with it, everything behind the first batch norm differs.",
        "What do the layers see while the net learns: the batch's statistics, or the running ones?",
        "train-eval-gap",
        (FIRST, FIRST.replace("deepcopy(model)", "deepcopy(model).eval()")),
        (LATER, LATER.replace("deepcopy(model)", "deepcopy(model).eval()")),
    ),
    _wrong(
        "times-for-layers", "history",
        "The list holds times, each with its layers; asked is a list of layers, each with its times",
        "The length of the list changes with the number of updates, not with the model.",
        "Which index comes first? Turn the table before you return it.",
        "measuring-shift",
        (RETURN, "    return times\n"),
    ),
    _wrong(
        "unbiased-std", "history",
        "The deviations in the history are the unbiased ones",
        "All deviations are too large by the same factor; it is farther from 1 for a small probe.",
        "What does your function divide by unless it is told otherwise?",
        "artefacts-of-measuring",
        ("h.std(0, correction=0)", "h.std(0)"),
    ),
)  # fmt: skip

MODEL: tuple[Mistake, ...] = (
    _wrong(
        "summed-loss", "model",
        "The loss is summed over the batch, not averaged",
        "Every step is too long by the size of the batch.",
        "Should a batch of 64 move the weights 64 times as far as one example?",
        "fair-comparison",
        ("classes[batch])", "classes[batch], reduction='sum')"),
    ),
    _wrong(
        "ascent", "model",
        "The update goes up the gradient",
        "The loss grows from step to step.",
        "The gradient points to where the loss grows.",
        "fair-comparison",
        (STEP, "p += lr * g"),
    ),
    _wrong(
        "accumulated", "model",
        "Gradients of earlier batches are not cleared",
        "The first update is right, every later one is the sum of all so far.",
        "backward() adds to what stands in .grad. Who empties it?",
        "fair-comparison",
        (GRADIENTS, "        loss.backward()\n        gradients = [p.grad for p in model.parameters()]\n"),
    ),
    _wrong(
        "momentum", "model",
        "The optimizer has momentum",
        "The first update is right; from the second on, steps are too long.",
        "Plain SGD forgets the last gradient. What does your optimizer's constructor say?",
        "fair-comparison",
        (TRAIN, TRAIN + "    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)\n"),
        (GRADIENTS, "        optimizer.zero_grad()\n        loss.backward()\n"),
        (UPDATE, "        optimizer.step()\n"),
    ),
    _wrong(
        "biases-fixed", "model",
        "Only weights with two axes are trained",
        "Biases and the parameters of normalization layers stay where they were.",
        "List the parameters of the model and mark those that your update reaches.",
        "fair-comparison",
        ("                p -= lr * g\n", "                if p.dim() > 1:\n                    p -= lr * g\n"),
    ),
    _wrong(
        "all-data", "model",
        "Every update uses all of the data",
        "It does not matter which batches are given, only how many.",
        "Where does `batch` enter your loss?",
        "fair-comparison",
        (LOSS, "        loss = F.cross_entropy(model(x), classes)\n"),
    ),
    _wrong(
        "labels-of-others", "model",
        "Inputs and classes are indexed differently",
        "The net learns the labels of other examples.",
        "Example 17 comes with class 17. Is that so behind your indexing?",
        "fair-comparison",
        ("classes[batch])", "classes[: len(batch)])"),
    ),
    _wrong(
        "trains-a-copy", "model",
        "A copy is trained, and the model that was given stays as it was",
        "The history is right; after the call the model's weights are the old ones.",
        "Measuring should leave no trace. Should training?",
        "hooks-and-measuring",
        ("    modes = [", "    model = copy.deepcopy(model)\n    modes = ["),
    ),
)  # fmt: skip

RUNNING: tuple[Mistake, ...] = (
    _wrong(
        "probe-remembered", "running",
        "Measuring the probe moves the running statistics",
        "History and weights are right; running_mean and running_var are mixed with the probe's, the count is too high.",
        "A forward pass in training mode remembers what it saw. Which passes of yours should be forgotten?",
        "hooks-and-measuring",
        ("            layer.register_forward_hook(hook)\n", "            handles.append(layer.register_forward_hook(hook))\n"),
        ("    found = []\n", "    found, handles = [], []\n"),
        ("    return found\n", "    for handle in handles:\n        handle.remove()\n    return found\n"),
        (FIRST, FIRST.replace("copy.deepcopy(model)", "model")),
        (LATER, LATER.replace("copy.deepcopy(model)", "model")),
    ),
    _wrong(
        "trains-in-evaluation", "running",
        "The model is trained in evaluation mode",
        "Nets without batch norm are right; with it, the running statistics never move.",
        "In which mode does batch norm use the batch, and remember it?",
        "train-eval-gap",
        (TRAIN, "    model.eval()\n"),
    ),
    _wrong(
        "mode-as-given", "running",
        "The model is trained in whatever mode it is given",
        "Right for a net in training mode; one in evaluation mode trains with old running statistics.",
        "Who makes sure that training happens in training mode?",
        "train-eval-gap",
        (TRAIN, ""),
    ),
    _wrong(
        "left-in-training", "running",
        "The model is left in training mode",
        "A net that was given in evaluation mode answers with batch statistics afterwards.",
        "Which modes had the modules before you switched them?",
        "hooks-and-measuring",
        (PUT_BACK, ""),
    ),
    _wrong(
        "hooks-stay", "running",
        "The hooks of the measurements stay on the model",
        "The model grows slower with every update.",
        "What did you hang on the model, and what took it off again?",
        "hooks-and-measuring",
        (PUT_BACK, PUT_BACK + "    for m in model.modules():\n        if isinstance(m, nn.Linear):\n"
         "            m.register_forward_hook(lambda *given: None)\n"),
    ),
)  # fmt: skip

TRAINING_MISTAKES = (*HISTORY, *MODEL, *RUNNING)
