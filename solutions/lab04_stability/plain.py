"""The plain sources of lab 4, and the small edits that turn them into wrong ones.

Not the reference: that is written to be read. These texts are written to be cut: every line does one thing, so that a mistake is
one line changed. Each text defines one name of the contract and carries its own imports.
"""

from __future__ import annotations

from autograder.checks.check import Mistake
from solutions.lab01_batch_norm.plain import Edit, edit

CHALLENGES = "book/key-challenges.html#"
CONCEPTS = "book/core-concepts.html#"
FORMULATION = "book/mathematical-formulation.html#"
PAGES = {
    **dict.fromkeys(
        (
            "small-batches", "batch-mates", "leak-between-examples", "train-eval-gap", "re-estimation",
            "artefacts-of-measuring", "fair-comparison",
        ),
        CHALLENGES,
    ),
    **dict.fromkeys(("hooks-and-measuring",), CONCEPTS),
    **dict.fromkeys(("bn-backward", "bn-evaluation", "bn-running-statistics", "few-values", "numerics", "the-set"), FORMULATION),
}  # fmt: skip

PRINTED = """\
import math


def printed_stability(m):
    if m < 2:
        raise ValueError(f"batch norm refuses a batch of {m}")
    return math.sqrt(m / (m - 1))
"""

OUTPUTS = """\
import copy

import torch


def outputs_with_companions(layer, x0, companions):
    model = copy.deepcopy(layer)
    model.train()
    rows = []
    for others in companions:
        batch = torch.cat([x0.unsqueeze(0), others])
        with torch.no_grad():
            y = model(batch)
        rows.append(y[0])
    return torch.stack(rows)
"""

SPREAD = """\
import torch


def spread(outputs):
    mean = outputs.mean(dim=0)
    variance = ((outputs - mean) ** 2).mean(dim=0)
    return variance.mean().sqrt().item()
"""

GRADIENTS = """\
import copy

import torch


def input_gradients(layer, x0, companions, grad_out):
    model = copy.deepcopy(layer)
    model.train()
    rows = []
    for others in companions:
        leaf = x0.detach().clone().requires_grad_()
        batch = torch.cat([leaf.unsqueeze(0), others])
        y = model(batch)
        loss = (y[0] * grad_out).sum()
        (gradient,) = torch.autograd.grad(loss, leaf)
        rows.append(gradient)
    return torch.stack(rows)
"""

LEAK = """\
import copy

import torch


def leak(layer, x, i, j, grad_out):
    model = copy.deepcopy(layer)
    model.train()
    leaf = x.detach().clone().requires_grad_()
    y = model(leaf)
    loss = (y[i] * grad_out).sum()
    (gradient,) = torch.autograd.grad(loss, leaf)
    return gradient[j].norm().item()
"""

# A table that leans on nobody else's functions, so that it can be judged alone.
TABLE = """\
import copy

import torch


def outputs_of(layer, x0, companions):
    model = copy.deepcopy(layer)
    model.train()
    return [model(torch.cat([x0.unsqueeze(0), others]))[0].detach() for others in companions]


def gradients_of(layer, x0, companions, grad_out):
    model = copy.deepcopy(layer)
    model.train()
    rows = []
    for others in companions:
        leaf = x0.detach().clone().requires_grad_()
        loss = (model(torch.cat([leaf.unsqueeze(0), others]))[0] * grad_out).sum()
        rows += torch.autograd.grad(loss, leaf)
    return rows


def spread_of(rows):
    rows = torch.stack(rows)
    return rows.var(dim=0, correction=0).mean().sqrt().item()


def stability_table(layers, x0, companions, grad_out=None):
    table = torch.zeros(len(layers), len(companions), dtype=x0.dtype)
    for row, layer in enumerate(layers.values()):
        for column, others in enumerate(companions):
            try:
                if grad_out is None:
                    seen = outputs_of(layer, x0, others)
                else:
                    seen = gradients_of(layer, x0, others, grad_out)
                table[row, column] = spread_of(seen)
            except ValueError:
                table[row, column] = float("nan")
    return table
"""

TRAIN = """\
import torch
from torch import nn


def train_on_batches(model, x, classes, batches, lr):
    modes = [(module, module.training) for module in model.modules()]
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[batch]), classes[batch])
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    for module, mode in modes:
        module.training = mode
    return losses
"""

ERROR = """\
import copy

import torch


def error_rate(model, x, classes, batch_size=None):
    model = copy.deepcopy(model)
    wrong, seen = 0, 0
    if batch_size is None:
        model.eval()
        batches = [(x, classes)]
    else:
        model.train()
        full = len(x) // batch_size * batch_size
        batches = zip(x[:full].split(batch_size), classes[:full].split(batch_size))
    for inputs, answers in batches:
        with torch.no_grad():
            guesses = model(inputs).argmax(dim=1)
        wrong += (guesses != answers).sum().item()
        seen += len(answers)
    return wrong / seen
"""

SUMMARY = """\
import torch


def seed_summary(values):
    mean = values.mean(dim=0)
    std = values.std(dim=0, correction=1)
    return mean, std
"""

PLAIN = {
    "printed_stability": PRINTED,
    "outputs_with_companions": OUTPUTS,
    "spread": SPREAD,
    "input_gradients": GRADIENTS,
    "leak": LEAK,
    "stability_table": TABLE,
    "train_on_batches": TRAIN,
    "error_rate": ERROR,
    "seed_summary": SUMMARY,
}

# Lines that are changed often; `edit` fails if they no longer stand there once.
COPIED = "    model = copy.deepcopy(layer)\n"
IN_TRAINING = "    model.train()\n"


def mistake(
    exercise: str, ident: str, check: str, title: str, symptom: str, hint: str, anchor: str, *edits: Edit,
    source: str | None = None,
) -> Mistake:  # fmt: skip
    """One mistake in one function, by edits of its plain source or as a whole source; the anchor knows its chapter."""
    return Mistake(
        id=ident,
        exercise=exercise,
        check=f"stab-{check}",
        title=title,
        symptom=symptom,
        hint=hint,
        page=PAGES[anchor] + anchor,
        source=edit(PLAIN[exercise], *edits) if source is None else source,
    )
