"""Mistakes in train_on_batches: unequal updates, other losses, the wrong mode, data that do not stay."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab04_stability.plain import Edit, mistake

SGD = "optimizer = torch.optim.SGD(model.parameters(), lr=lr)"
ZERO = "        optimizer.zero_grad()\n"
LOSS = "loss = nn.functional.cross_entropy(model(x[batch]), classes[batch])"
SEEN = "        losses.append(loss.item())\n"
STEP = "        optimizer.step()\n"
RESTORED = "    for module, mode in modes:\n        module.training = mode\n"


def _train(ident: str, check: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit) -> Mistake:
    return mistake("train_on_batches", f"train-{ident}", check, title, symptom, hint, anchor, *edits)


TRAINING: tuple[Mistake, ...] = (
    _train(
        "loss-after-the-update",
        "losses",
        "The loss is taken after the update, on the batch that was just learned",
        "Losses lower than asked for; training looks faster than it is.",
        "Had the model seen this batch when the loss was taken?",
        "fair-comparison",
        (SEEN, ""),
        (
            STEP,
            STEP
            + "        with torch.no_grad():\n            losses.append("
            + LOSS.removeprefix("loss = ")
            + ".item())\n",
        ),
    ),
    _train(
        "mean-of-losses",
        "losses",
        "One mean loss is returned in place of one loss for each batch",
        "A number where a list of len(batches) numbers is asked for.",
        "How many updates were there, and how many losses do you return?",
        "fair-comparison",
        ("    return losses\n", "    return sum(losses) / max(1, len(losses))\n"),
    ),
    _train(
        "running-mean-of-losses",
        "losses",
        "The losses are averages over all batches so far",
        "The first loss is right, the others lag behind.",
        "Which batches are in the second number of your list?",
        "fair-comparison",
        (SEEN, "        losses.append((sum(losses) + loss.item()) / (len(losses) + 1))\n"),
    ),
    _train(
        "losses-as-tensor",
        "losses",
        "The losses come as one tensor, not as a list of numbers",
        "The numbers are right, but there is no list.",
        "What type does the task ask for?",
        "fair-comparison",
        ("    return losses\n", "    return torch.tensor(losses)\n"),
    ),
    _train(
        "gradients-pile-up",
        "updates",
        "The gradients of earlier batches are never cleared",
        "The first update is right, the second goes in the direction of both batches.",
        "backward adds to what stands in .grad. What stands there when the second batch begins?",
        "fair-comparison",
        (ZERO, ""),
    ),
    _train(
        "momentum",
        "updates",
        "The optimizer has momentum",
        "The first update is right, the later ones are too large.",
        "What does plain gradient descent remember of the batch before?",
        "fair-comparison",
        (SGD, "optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)"),
    ),
    _train(
        "adam",
        "updates",
        "Adam is used in place of plain gradient descent",
        "Every number moves by about lr in the first update, whatever its gradient.",
        "Which optimizers scale the gradient? Which one was asked for?",
        "fair-comparison",
        (SGD, "optimizer = torch.optim.Adam(model.parameters(), lr=lr)"),
    ),
    _train(
        "weight-decay",
        "updates",
        "The optimizer decays the weights",
        "All numbers are a little too near to 0.",
        "Which term does the task's update have besides the gradient?",
        "fair-comparison",
        (SGD, "optimizer = torch.optim.SGD(model.parameters(), lr=lr, weight_decay=0.01)"),
    ),
    _train(
        "summed-loss",
        "updates",
        "The loss is summed over the batch",
        "Large batches take larger steps, so a sweep over batch sizes compares learning rates.",
        "Does the loss of a batch grow with its size? What does that do to the step?",
        "fair-comparison",
        ("classes[batch])\n", 'classes[batch], reduction="sum")\n'),
    ),
    _train(
        "rate-scaled",
        "updates",
        "The learning rate is scaled with the batch size",
        "Steps too large by the number of examples in the batch, divided by 32.",
        "lr is an argument. Who decides whether it goes with the batch size: the caller, or your function?",
        "fair-comparison",
        (STEP, '        optimizer.param_groups[0]["lr"] = lr * len(batch) / 32\n' + STEP),
    ),
    _train(
        "one-update-for-all",
        "updates",
        "One update is made, after all batches",
        "All losses are those of the starting weights, and the model moves once.",
        "Equal updates for each batch size: how many updates do your batches make?",
        "fair-comparison",
        (ZERO, ""),
        (STEP, ""),
        (RESTORED, "    optimizer.step()\n    optimizer.zero_grad()\n" + RESTORED),
    ),
    _train(
        "as-it-comes",
        "updates",
        "The model is trained in the mode that it comes in",
        "A model in evaluation mode is trained with its running statistics, which do not move.",
        "Whose mode does training need, and who sets it?",
        "train-eval-gap",
        ("    model.train()\n", ""),
    ),
    _train(
        "in-evaluation",
        "updates",
        "The model is trained in evaluation mode",
        "Batches of one are no trouble for batch norm, and its running statistics never move.",
        "Which statistics should the layer use while it is trained?",
        "train-eval-gap",
        ("    model.train()\n", "    model.eval()\n"),
    ),
    _train(
        "whole-data",
        "updates",
        "Every update uses all examples, whatever the batch says",
        "The batch size makes no difference at all.",
        "What do you do with the indices in batch?",
        "small-batches",
        (LOSS, "loss = nn.functional.cross_entropy(model(x), classes)"),
    ),
    _train(
        "first-rows",
        "updates",
        "Each batch takes the first rows of x, not the rows that it names",
        "The model sees the same few examples again and again.",
        "batch holds indices. Is its length all that you use?",
        "small-batches",
        (LOSS, "loss = nn.functional.cross_entropy(model(x[: len(batch)]), classes[: len(batch)])"),
    ),
    _train(
        "softmax-twice",
        "updates",
        "softmax is applied before the cross-entropy, which applies it again",
        "Losses near each other, gradients too small: learning is slow.",
        "What does cross_entropy expect: probabilities, or the numbers before the softmax?",
        "fair-comparison",
        (LOSS, "loss = nn.functional.cross_entropy(model(x[batch]).softmax(dim=1), classes[batch])"),
    ),
    _train(
        "on-a-copy",
        "updates",
        "A copy is trained, and thrown away",
        "The losses are right, and the model that was given has not moved.",
        "Measuring works on copies. Is training measuring?",
        "hooks-and-measuring",
        ("    modes = [", "    import copy\n\n    model = copy.deepcopy(model)\n    modes = ["),
    ),
    _train(
        "uphill",
        "updates",
        "The step goes up the gradient",
        "The loss grows with every update.",
        "In which direction does the gradient point?",
        "fair-comparison",
        (SGD, "optimizer = torch.optim.SGD(model.parameters(), lr=lr, maximize=True)"),
    ),
    _train(
        "norms-not-trained",
        "updates",
        "Only matrices are trained: biases and the parameters of norms stay",
        "Linear weights move as they should, nothing else does.",
        "Which parameters does model.parameters() name, and which of them do you change?",
        "fair-comparison",
        (SGD, "optimizer = torch.optim.SGD([p for p in model.parameters() if p.dim() > 1], lr=lr)"),
    ),
    _train(
        "refused-batches-skipped",
        "losses",
        "Batches that the model refuses are left out in silence",
        "Fewer updates than batches, and no word about it.",
        "Are your updates still equal in number for every batch size?",
        "few-values",
        (
            "        " + LOSS + "\n",
            "        try:\n            " + LOSS + "\n        except ValueError:\n            continue\n",
        ),
    ),
    _train(
        "left-in-training",
        "train-manners",
        "The model stays in training mode",
        "A model that came in evaluation mode is no longer in it.",
        "The task says what becomes of the mode at the end. Where in your function does it happen?",
        "hooks-and-measuring",
        (RESTORED, ""),
    ),
    _train(
        "one-mode-for-all",
        "train-manners",
        "One flag is kept for the whole model and given to all of its modules",
        "A part that was frozen in evaluation mode, inside a model in training mode, is in training mode afterwards.",
        "Which modules have a mode of their own? Print the flag of each before and after the call.",
        "hooks-and-measuring",
        ("    modes = [", "    was = model.training\n    modes = ["),
        (RESTORED, "    model.train(was)\n"),
    ),
    _train(
        "left-in-evaluation",
        "train-manners",
        "The model is put into evaluation mode at the end",
        "A model that came in training mode is no longer in it.",
        "Is evaluation mode where the model came from?",
        "hooks-and-measuring",
        (RESTORED, "    model.eval()\n"),
    ),
    _train(
        "data-standardized-in-place",
        "train-manners",
        "The function changes the data that it was given",
        "x is worth something else afterwards: the next model is trained on other data.",
        "Which of your operations end in an underscore, or assign into a tensor that is not yours?",
        "hooks-and-measuring",
        (RESTORED, RESTORED + "    x -= x.mean(dim=0)\n"),
    ),
)
