"""Mistakes in stability_table: order, kind, and above all what becomes of a refusal."""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab04_stability.plain import Edit, mistake

ENTRY = 'table[row, column] = float("nan")'
REFUSED = "            except ValueError:\n"
START = "table = torch.zeros(len(layers), len(companions), dtype=x0.dtype)"
ROWS = "for row, layer in enumerate(layers.values()):"
OUTPUTS = "def outputs_of(layer, x0, companions):\n    model = copy.deepcopy(layer)\n    model.train()\n"
ITSELF = "def outputs_of(layer, x0, companions):\n    model = layer\n    was = model.training\n    model.train()\n"
OUTPUT_ROWS = "    return [model(torch.cat([x0.unsqueeze(0), others]))[0].detach() for others in companions]\n"
SPREAD = "return rows.var(dim=0, correction=0).mean().sqrt().item()"


def _table(ident: str, check: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit) -> Mistake:
    return mistake("stability_table", f"table-{ident}", check, title, symptom, hint, anchor, *edits)


TABLE: tuple[Mistake, ...] = (
    _table(
        "transposed",
        "table",
        "Rows are batch sizes and columns are layers",
        "Shape (sizes, layers) in place of (layers, sizes).",
        "Which of the two does the task call a row?",
        "batch-mates",
        ("    return table\n", "    return table.T\n"),
    ),
    _table(
        "float32",
        "table",
        "The table is float32, whatever dtype x0 has",
        "A float32 tensor comes back for float64 layers.",
        "Which dtype does torch give a new tensor when it is told none?",
        "numerics",
        (START, "table = torch.zeros(len(layers), len(companions))"),
    ),
    _table(
        "sorted-layers",
        "table",
        "The layers are sorted by name",
        "The rows belong to other layers than the dictionary's order says.",
        "A dictionary remembers an order. Does your loop keep it?",
        "batch-mates",
        (ROWS, "for row, (_, layer) in enumerate(sorted(layers.items())):"),
    ),
    _table(
        "grad-out-ignored",
        "table",
        "Outputs are measured even where gradients are asked for",
        "With grad_out and without it the table is the same.",
        "What does the last argument switch?",
        "batch-mates",
        ("if grad_out is None:", "if True:"),
    ),
    _table(
        "list-of-lists",
        "table",
        "A list of lists is returned, not a tensor",
        "The numbers are right, but they are no tensor of shape (layers, sizes).",
        "What type does the task ask for?",
        "batch-mates",
        ("    return table\n", "    return table.tolist()\n"),
    ),
    _table(
        "first-size-only",
        "table",
        "Every column is measured with the companions of the first batch size",
        "All columns are equal, as if the batch size did not matter.",
        "Which tensor of companions belongs to which column?",
        "small-batches",
        ("outputs_of(layer, x0, others)", "outputs_of(layer, x0, companions[0])"),
        ("gradients_of(layer, x0, others, grad_out)", "gradients_of(layer, x0, companions[0], grad_out)"),
    ),
    _table(
        "unbiased-spread",
        "table",
        "The entries are unbiased standard deviations",
        "Too large by the root of K / (K - 1).",
        "Which divisor did the definition of spread have?",
        "artefacts-of-measuring",
        (SPREAD, "return rows.var(dim=0).mean().sqrt().item()"),
    ),
    _table(
        "in-evaluation",
        "table",
        "The layers are measured in evaluation mode",
        "Zeros everywhere, also for batch norm, and no refusal.",
        "A column of zeros for every layer: which mode makes every layer blind to its batch?",
        "train-eval-gap",
        (OUTPUTS, OUTPUTS.replace("train()", "eval()")),
    ),
    _table(
        "zero-for-a-refusal",
        "refusals",
        "Where a layer refuses the batch, the table says 0",
        "A batch of one looks like the most stable batch of all.",
        "A measured 0 and no measurement are not the same. Which value cannot be mistaken for a number?",
        "few-values",
        (ENTRY, "table[row, column] = 0.0"),
    ),
    _table(
        "infinity-for-a-refusal",
        "refusals",
        "Where a layer refuses the batch, the table says infinity",
        "inf where nan is asked for: an unmeasured entry looks like a measured, terrible one.",
        "Did the layer give an infinitely unstable answer, or none?",
        "few-values",
        (ENTRY, 'table[row, column] = float("inf")'),
    ),
    _table(
        "refusal-not-caught",
        "refusals",
        "A refused batch stops the whole table",
        "ValueError: Expected more than 1 value per channel when training. The first version ended like this.",
        "Which other entries could still be measured after one layer has refused?",
        "few-values",
        (REFUSED, "            except ZeroDivisionError:\n"),
    ),
    _table(
        "every-error-swallowed",
        "refusals",
        "Every exception counts as a refusal, also those that tell of a bug",
        "A layer of the wrong width gives a row of nan, and nobody learns why.",
        "Which exception is a layer's refusal of a small batch? What should happen to all the others?",
        "artefacts-of-measuring",
        (REFUSED, "            except Exception:\n"),
    ),
    _table(
        "nobody-asked-about-one",
        "refusals",
        "Batches of one are nan for every layer, without asking it",
        "nan for layer norm and group norm, which are content with one example.",
        "Who knows whether a layer can work on a batch of one: you, or the layer?",
        "few-values",
        (
            "            try:\n",
            '            if others.shape[1] == 0:\n                table[row, column] = float("nan")\n'
            "                continue\n            try:\n",
        ),
    ),
    _table(
        "whole-row-refused",
        "refusals",
        "One refusal turns the layer's whole row into nan",
        "Batch norm has no numbers for any batch size as soon as one of them is 1.",
        "How much of the work stands inside your try?",
        "few-values",
        (ENTRY, 'table[row] = float("nan")\n                break'),
    ),
    _table(
        "rest-of-the-row-skipped",
        "refusals",
        "After a refusal the rest of the row is left at 0",
        "Right up to the refused size, zeros behind it.",
        "Does your loop go on after a refusal?",
        "few-values",
        (ENTRY, ENTRY + "\n                break"),
    ),
    _table(
        "moves-running-statistics",
        "table-manners",
        "The table moves the running statistics of its layers",
        "The layers evaluate differently after they have been measured.",
        "What does batch norm write down in every call in training mode? Who should keep it?",
        "hooks-and-measuring",
        (OUTPUTS, ITSELF),
        (OUTPUT_ROWS, OUTPUT_ROWS.replace("return", "rows =") + "    model.train(was)\n    return rows\n"),
    ),
    _table(
        "left-in-training",
        "table-manners",
        "The layers of the table are left in training mode",
        "A layer that came in evaluation mode is no longer in it.",
        "What were the modes before you came?",
        "hooks-and-measuring",
        (START, START + "\n    [layer.train() for layer in layers.values()]"),
    ),
)  # fmt: skip
