"""Mistakes in input_gradients: gradients of what, with respect to what, and what is left behind."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab04_stability.mistakes_outputs import ITSELF, MODE_BACK, NUMBERS_BACK, NUMBERS_KEPT
from solutions.lab04_stability.plain import IN_TRAINING, Edit, mistake

LOSS = "loss = (y[0] * grad_out).sum()"
TAKEN = "(gradient,) = torch.autograd.grad(loss, leaf)"
BATCH = "batch = torch.cat([leaf.unsqueeze(0), others])"
LEAF = "        leaf = x0.detach().clone().requires_grad_()\n"
RESULT = "    return torch.stack(rows)\n"


def _gradients(ident: str, check: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit) -> Mistake:
    return mistake("input_gradients", f"gradients-{ident}", check, title, symptom, hint, anchor, *edits)


GRADIENTS: tuple[Mistake, ...] = (
    _gradients(
        "of-the-whole-batch",
        "gradients",
        "The gradient with respect to the whole batch is added up",
        "Zeros for batch norm: the gradients of a batch cancel, by its own backward pass.",
        "With respect to which tensor do you differentiate? Do the companions' inputs belong to it?",
        "bn-backward",
        (LEAF, "        leaf = torch.cat([x0.unsqueeze(0), others]).requires_grad_()\n"),
        (BATCH, "batch = leaf"),
        (TAKEN, "gradient = torch.autograd.grad(loss, leaf)[0].sum(dim=0)"),
    ),
    _gradients(
        "of-all-outputs",
        "gradients",
        "The outputs of the companions are in the sum that is differentiated",
        "Zeros for a batch norm alone: the sum of its outputs does not depend on any input.",
        "Which row of the output belongs to x0? Whose gradient is asked for?",
        "bn-backward",
        (LOSS, "loss = (y * grad_out).sum()"),
    ),
    _gradients(
        "upstream-ignored",
        "gradients",
        "grad_out is ignored: the plain sum of the outputs is differentiated",
        "Right only where grad_out is 1 everywhere.",
        "Where does grad_out appear in your function?",
        "bn-backward",
        (LOSS, "loss = y[0].sum()"),
    ),
    _gradients(
        "mean-of-products",
        "gradients",
        "The mean of grad_out * y0 is differentiated, not the sum",
        "Too small by the number of features that come out.",
        "Is grad_out the gradient of the loss with respect to y0 if the loss is a mean?",
        "bn-backward",
        (LOSS, "loss = (y[0] * grad_out).mean()"),
    ),
    _gradients(
        "in-evaluation",
        "gradients",
        "The gradients are taken in evaluation mode",
        "All K gradients are the same, since no statistic depends on the batch.",
        "In which mode do gradients flow through the batch's mean and variance?",
        "train-eval-gap",
        (IN_TRAINING, "    model.eval()\n"),
    ),
    _gradients(
        "mode-as-it-comes",
        "gradients",
        "The mode is left as it comes",
        "Right for a layer in training mode; another gradient for one in evaluation mode.",
        "Who decides the mode here: whoever used the layer last, or the question that you ask?",
        "train-eval-gap",
        (IN_TRAINING, ""),
    ),
    _gradients(
        "last-row",
        "gradients",
        "The output of the last companion is differentiated",
        "Zeros for layer norm: a companion's output does not know x0.",
        "Where in the batch did you put x0, and which row of y do you take?",
        "leak-between-examples",
        (LOSS, "loss = (y[-1] * grad_out).sum()"),
    ),
    _gradients(
        "summed-over-draws",
        "gradients",
        "The gradient piles up from draw to draw",
        "The first row is right, the second is the sum of two, the third of three.",
        "backward adds to what stands in .grad. What stood there when the second draw began?",
        "batch-mates",
        ("    rows = []\n", "    rows = []\n    leaf = x0.detach().clone().requires_grad_()\n"),
        (LEAF, ""),
        (TAKEN, "loss.backward()"),
        ("rows.append(gradient)", "rows.append(leaf.grad.clone())"),
    ),
    _gradients(
        "aliased",
        "gradients",
        "Every row is the same tensor, which later draws write over",
        "All rows are equal: the sum over all draws.",
        "Does appending x.grad to a list copy the numbers, or remember where they lie?",
        "batch-mates",
        ("    rows = []\n", "    rows = []\n    leaf = x0.detach().clone().requires_grad_()\n"),
        (LEAF, ""),
        (TAKEN, "loss.backward()"),
        ("rows.append(gradient)", "rows.append(leaf.grad)"),
    ),
    _gradients(
        "averaged-over-draws",
        "gradients",
        "The gradients are averaged over the draws",
        "Shape (C,) in place of (K, C); how far draws differ is lost.",
        "Can a spread be computed from a mean?",
        "batch-mates",
        (RESULT, "    return torch.stack(rows).mean(dim=0)\n"),
    ),
    _gradients(
        "length-only",
        "gradients",
        "The length of each gradient is returned, not the gradient",
        "Shape (K,) in place of (K, C).",
        "Two gradients of one length may point in opposite directions. What is asked for?",
        "batch-mates",
        ("rows.append(gradient)", "rows.append(gradient.norm())"),
    ),
    _gradients(
        "one-large-batch",
        "gradients",
        "All draws are put into one batch",
        "The batch has K (m - 1) + 1 examples and not m, and all rows are equal.",
        "How many examples does the layer see at once, and how many should it see?",
        "small-batches",
        (BATCH, "batch = torch.cat([leaf.unsqueeze(0), companions.reshape(-1, companions.shape[-1])])"),
    ),
    _gradients(
        "accumulated-in-parameters",
        "gradients-manners",
        "The layer's parameters have gradients afterwards, or do not want any more",
        "The next training step adds the measurement to its own gradient.",
        "backward fills .grad of everything that wants a gradient, not of x0 alone. Is there a call that asks for one only?",
        "hooks-and-measuring",
        NUMBERS_KEPT,
        (IN_TRAINING, "    modes = [(module, module.training) for module in model.modules()]\n" + IN_TRAINING),
        (TAKEN, "loss.backward()\n        gradient = leaf.grad"),
        (
            RESULT,
            NUMBERS_BACK + "    for module, training in modes:\n        module.training = training\n" + RESULT,
        ),
    ),
    _gradients(
        "gradients-wiped",
        "gradients-manners",
        "The layer's gradients are set to zero at the end, also those that were there before",
        "Whoever accumulates gradients over several batches loses what had been accumulated.",
        "Whose gradients stand in .grad when your function is called? Can you get yours without touching them?",
        "hooks-and-measuring",
        (RESULT, "    layer.zero_grad()\n" + RESULT),
    ),
    _gradients(
        "moves-running-statistics",
        "gradients-manners",
        "Measuring moves the layer's running statistics",
        "The layer evaluates differently after it has been measured.",
        "What does batch norm write down in every call in training mode? Who should keep it?",
        "hooks-and-measuring",
        ITSELF,
        (RESULT, MODE_BACK + RESULT),
    ),
    _gradients(
        "left-in-training",
        "gradients-manners",
        "The layer is left in training mode",
        "A layer that came in evaluation mode is no longer in it.",
        "What was the layer's mode before you came?",
        "hooks-and-measuring",
        NUMBERS_KEPT,
        (RESULT, NUMBERS_BACK + RESULT),
    ),
)
