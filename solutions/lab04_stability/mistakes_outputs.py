"""Mistakes in outputs_with_companions: which batch, which row, which mode, and what is left behind."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab04_stability.plain import COPIED, IN_TRAINING, Edit, mistake

BATCH = "batch = torch.cat([x0.unsqueeze(0), others])"
ROW = "rows.append(y[0])"
RESULT = "    return torch.stack(rows)\n"
LOOP = "for others in companions:"

# Not a copy any more: the layer itself runs. Each of these puts back only a part.
ITSELF = (COPIED, "    model = layer\n    was = [module.training for module in model.modules()]\n")
MODE_BACK = "    for module, training in zip(model.modules(), was):\n        module.training = training\n"
NUMBERS_KEPT = (
    COPIED,
    "    model = layer\n    state = copy.deepcopy(model.state_dict())\n",
)
NUMBERS_BACK = "    model.load_state_dict(state)\n"


def _outputs(ident: str, check: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit) -> Mistake:
    return mistake("outputs_with_companions", f"outputs-{ident}", check, title, symptom, hint, anchor, *edits)


OUTPUTS: tuple[Mistake, ...] = (
    _outputs(
        "in-evaluation",
        "outputs",
        "The outputs are taken in evaluation mode",
        "All K outputs are the same: batch norm uses its running statistics, and nobody's companions matter.",
        "In which mode does batch norm look at the batch? Copying a layer also copies its mode.",
        "train-eval-gap",
        (IN_TRAINING, "    model.eval()\n"),
    ),
    _outputs(
        "mode-as-it-comes",
        "outputs",
        "The mode is left as it comes",
        "Right for a layer in training mode; for one in evaluation mode companions seem not to matter.",
        "Who decides the mode here: whoever used the layer last, or the question that you ask?",
        "train-eval-gap",
        (IN_TRAINING, ""),
    ),
    _outputs(
        "last-row",
        "outputs",
        "The last row of the output is taken, which belongs to a companion",
        "Large spreads even for layer norm, whose outputs cannot depend on companions.",
        "Where in the batch did you put x0, and which row do you read?",
        "batch-mates",
        (ROW, "rows.append(y[-1])"),
    ),
    _outputs(
        "mean-of-the-batch",
        "outputs",
        "The mean over the batch is taken in place of one example's row",
        "For batch norm it is the bias, whatever the companions: a perfectly stable layer.",
        "The mean of a normalized batch is known in advance. Whose output did you want to follow?",
        "artefacts-of-measuring",
        (ROW, "rows.append(y.mean(dim=0))"),
    ),
    _outputs(
        "whole-batch",
        "outputs",
        "The outputs of the whole batch are returned",
        "Shape (K, m, D) in place of (K, D).",
        "Of which example is the question?",
        "batch-mates",
        (ROW, "rows.append(y)"),
    ),
    _outputs(
        "kept-axis",
        "outputs",
        "The row keeps an axis of length one",
        "Shape (K, 1, D) in place of (K, D).",
        "What is the difference between y[0] and y[:1]?",
        "batch-mates",
        (ROW, "rows.append(y[:1])"),
    ),
    _outputs(
        "list-of-rows",
        "outputs",
        "A list of rows is returned, not one tensor",
        "The rows are right, but they are not a tensor of shape (K, D).",
        "What type does the task ask for?",
        "batch-mates",
        (RESULT, "    return rows\n"),
    ),
    _outputs(
        "copies-of-itself",
        "outputs",
        "The companions are replaced by copies of x0",
        "Batch norm returns its bias every time: the batch has no variance.",
        "Print the batch that the layer gets. Who is in it?",
        "batch-mates",
        (BATCH, "batch = x0.repeat(len(others) + 1, 1)"),
    ),
    _outputs(
        "one-large-batch",
        "outputs",
        "All draws are put into one batch",
        "Spreads far too small: the batch has K (m - 1) + 1 examples and not m.",
        "How many examples does the layer see at once, and how many should it see?",
        "small-batches",
        (BATCH, "batch = torch.cat([x0.unsqueeze(0), companions.reshape(-1, companions.shape[-1])])"),
    ),
    _outputs(
        "first-draw-only",
        "outputs",
        "Only the first set of companions is used, K times",
        "K equal rows, a spread of 0.",
        "Which variable changes from one turn of your loop to the next, and do you use it?",
        "batch-mates",
        (BATCH, "batch = torch.cat([x0.unsqueeze(0), companions[0]])"),
    ),
    _outputs(
        "x0-takes-a-place",
        "outputs",
        "x0 takes the place of the first companion",
        "The batch has m - 1 examples: the answers of batch norm are those of a smaller batch.",
        "companions holds m - 1 rows for each draw. How many rows does your batch have?",
        "small-batches",
        (BATCH, "batch = torch.cat([x0.unsqueeze(0), others[1:]])"),
    ),
    _outputs(
        "no-companions-no-layer",
        "outputs",
        "A batch of one returns x0 itself, and never reaches the layer",
        "A number where batch norm refuses, and a wrong one for every layer that does not.",
        "What does the layer say when it is asked about a batch of one? That is the answer.",
        "few-values",
        (f"    {LOOP}\n", f"    if companions.shape[1] == 0:\n        return x0.repeat(len(companions), 1)\n    {LOOP}\n"),
    ),
    _outputs(
        "refusal-swallowed",
        "outputs",
        "The layer's refusal of a batch of one is answered with zeros",
        "Zeros, and so a spread of 0, the best possible one, where there is no answer at all.",
        "Is a layer that refuses the batch a stable one? What does a caller learn from your zeros?",
        "few-values",
        (
            "            y = model(batch)\n",
            "            try:\n                y = model(batch)\n            except ValueError:\n"
            "                y = torch.zeros_like(batch)\n",
        ),
    ),
    _outputs(
        "new-layer",
        "outputs",
        "A fresh batch norm is measured, and not the layer that was given",
        "Weights and biases are 1 and 0, and layer norm seems to depend on its companions.",
        "Where in your function does the argument layer appear?",
        "batch-mates",
        (COPIED, "    model = torch.nn.BatchNorm1d(len(x0)).to(x0.dtype)\n"),
    ),
    _outputs(
        "in-float32",
        "outputs",
        "The outputs are put into a float32 tensor, whatever dtype the layer has",
        "float32 comes out for a float64 layer.",
        "Which dtype does a tensor get that is built from Python numbers?",
        "numerics",
        (RESULT, "    return torch.tensor([row.tolist() for row in rows])\n"),
    ),
    _outputs(
        "moves-running-statistics",
        "outputs-manners",
        "Measuring moves the layer's running statistics",
        "The layer evaluates differently after it has been measured.",
        "What does batch norm write down in every call in training mode, also under no_grad? Who should keep it?",
        "hooks-and-measuring",
        ITSELF,
        (RESULT, MODE_BACK + RESULT),
    ),
    _outputs(
        "left-in-training",
        "outputs-manners",
        "The layer is left in training mode",
        "A layer that came in evaluation mode is no longer in it, and its next evaluation is wrong.",
        "What was the layer's mode before you came? Does every module inside have it back?",
        "hooks-and-measuring",
        NUMBERS_KEPT,
        (RESULT, NUMBERS_BACK + RESULT),
    ),
    _outputs(
        "left-in-evaluation",
        "outputs-manners",
        "The layer is left in evaluation mode, however it came",
        "Training goes on with running statistics: the layer stops looking at its batch.",
        "Is evaluation mode where the layer came from?",
        "hooks-and-measuring",
        NUMBERS_KEPT,
        (RESULT, NUMBERS_BACK + "    model.eval()\n" + RESULT),
    ),
    _outputs(
        "one-mode-for-all",
        "outputs-manners",
        "One flag is kept for the whole model and given to all of its modules",
        "A part that was frozen in evaluation mode, inside a model in training mode, is in training mode afterwards.",
        "Which modules have a mode of their own? Print the flag of each before and after the call.",
        "hooks-and-measuring",
        NUMBERS_KEPT,
        (IN_TRAINING, "    was = model.training\n" + IN_TRAINING),
        (RESULT, NUMBERS_BACK + "    model.train(was)\n" + RESULT),
    ),
    _outputs(
        "left-as-it-fell",
        "outputs-manners",
        "The layer itself is measured, and neither its mode nor its statistics are put back",
        "It is in training mode afterwards, and its running statistics have moved.",
        "List what a call in training mode changes in a layer. Which of it is still changed when you return?",
        "hooks-and-measuring",
        (COPIED, "    model = layer\n"),
    ),
    _outputs(
        "hook-left",
        "outputs-manners",
        "A forward hook stays on the layer",
        "The layer remembers every batch that it sees from now on.",
        "What does register_forward_hook return, and what is it for?",
        "hooks-and-measuring",
        (COPIED, COPIED + "    layer.register_forward_hook(lambda module, inputs, output: rows.append(output[0].detach()))\n"),
    ),
    _outputs(
        "parameters-frozen",
        "outputs-manners",
        "The layer's parameters are frozen, and stay so",
        "The layer cannot be trained any more: no parameter wants a gradient.",
        "Which switch did you turn to save gradients, and who turns it back?",
        "hooks-and-measuring",
        (COPIED, "    layer.requires_grad_(False)\n" + COPIED),
    ),
    _outputs(
        "companions-overwritten",
        "outputs-manners",
        "The companions that were given are changed in place",
        "They are worth something else after the call, so the next layer is measured with others.",
        "cat makes a new tensor. Does your way of working on the batch?",
        "hooks-and-measuring",
        (RESULT, "    companions *= 0\n" + RESULT),
    ),
)  # fmt: skip
