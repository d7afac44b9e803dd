"""Honest solutions that differ in how they compute: scalar loops, NumPy, einops."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab04_stability.plain import PLAIN, edit

LOOPS = {
    "printed_stability": """\
def printed_stability(m):
    if m < 2:
        raise ValueError(f"{m}")
    normalized = [(-1.0) ** k for k in range(2)]  # any numbers with biased variance 1
    squares = sum(z * z for z in normalized) / 2 * m
    return (squares / (m - 1)) ** 0.5
""",
    "outputs_with_companions": """\
import copy

import torch


def outputs_with_companions(layer, x0, companions):
    rows = []
    for k in range(companions.size(0)):
        fresh = copy.deepcopy(layer)
        for module in fresh.modules():
            module.training = True
        batch = torch.zeros(companions.size(1) + 1, companions.size(2), dtype=companions.dtype)
        for c in range(companions.size(2)):
            batch[0, c] = x0[c]
            for r in range(companions.size(1)):
                batch[r + 1, c] = companions[k, r, c]
        rows.append([value.item() for value in fresh(batch)[0]])
    return torch.tensor(rows, dtype=x0.dtype)
""",
    "spread": """\
import math


def spread(outputs):
    total = 0.0
    for column in outputs.T.tolist():
        mean = math.fsum(column) / len(column)
        total += math.fsum((value - mean) ** 2 for value in column) / len(column)
    return math.sqrt(total / outputs.shape[1])
""",
    "input_gradients": """\
import copy

import torch


def input_gradients(layer, x0, companions, grad_out):
    result = torch.zeros(len(companions), len(x0), dtype=x0.dtype)
    for k in range(len(companions)):
        fresh = copy.deepcopy(layer).train()
        features = [x0[c].detach().clone().requires_grad_() for c in range(len(x0))]
        y = fresh(torch.cat([torch.stack(features).unsqueeze(0), companions[k]], dim=0))
        loss = 0.0
        for d in range(len(grad_out)):
            loss = loss + grad_out[d] * y[0, d]
        for c, gradient in enumerate(torch.autograd.grad(loss, features)):
            result[k, c] = gradient
    return result
""",
    "leak": """\
import copy

import torch


def leak(layer, x, i, j, grad_out):
    fresh = copy.deepcopy(layer).train()
    row = x[j].detach().clone().requires_grad_()
    before, after = x[:j], x[j + 1 :]
    y = fresh(torch.cat([before, row[None], after]))
    total = torch.zeros_like(row)
    for d in range(len(grad_out)):
        total += grad_out[d] * torch.autograd.grad(y[i, d], row, retain_graph=True)[0]
    return sum(float(value) ** 2 for value in total) ** 0.5
""",
    "stability_table": edit(
        PLAIN["stability_table"],
        (
            "    return rows.var(dim=0, correction=0).mean().sqrt().item()\n",
            "    return (rows - rows.mean(0)).pow(2).mean().sqrt().item()\n",
        ),
    ),
    "train_on_batches": """\
import torch


def train_on_batches(model, x, classes, batches, lr):
    modes = [module.training for module in model.modules()]
    for module in model.modules():
        module.training = True
    losses = []
    for batch in batches:
        logits = model(torch.stack([x[int(n)] for n in batch]))
        loss = 0.0
        for row, n in enumerate(batch.tolist()):
            loss = loss + (torch.logsumexp(logits[row], 0) - logits[row, classes[n]]) / len(batch)
        names, values = zip(*model.named_parameters())
        for value, gradient in zip(values, torch.autograd.grad(loss, values)):
            value.data = value.data - lr * gradient
        losses.append(loss.item())
    for module, mode in zip(model.modules(), modes):
        module.training = mode
    return losses
""",
    "error_rate": """\
import copy


def error_rate(model, x, classes, batch_size=None):
    network = copy.deepcopy(model)
    network.train() if batch_size is not None else network.eval()
    size, wrong, counted = batch_size or len(x), 0, 0
    for first in range(0, len(x), size):
        if first + size > len(x):
            break
        for row, right in zip(network(x[first : first + size]).tolist(), classes[first : first + size].tolist()):
            counted += 1
            if max(range(len(row)), key=row.__getitem__) != right:
                wrong += 1
    return wrong / counted
""",
    "seed_summary": """\
import statistics

import torch


def seed_summary(values):
    columns = values.T.tolist()
    mean = [statistics.fmean(column) for column in columns]
    std = [statistics.stdev(column) if len(column) > 1 else float("nan") for column in columns]
    return torch.tensor(mean, dtype=values.dtype), torch.tensor(std, dtype=values.dtype)
""",
}  # fmt: skip

NUMPY = {
    **PLAIN,
    "printed_stability": """\
import numpy as np


def printed_stability(m):
    if m < 2:
        raise ValueError("a batch of one")
    column = np.arange(m, dtype=float)
    column = (column - column.mean()) / column.std()
    return column.std(ddof=1)
""",
    "spread": """\
import numpy as np


def spread(outputs):
    return np.sqrt(outputs.detach().numpy().astype(np.float64).var(axis=0).mean())
""",
    "leak": edit(
        PLAIN["leak"],
        (
            "    return gradient[j].norm().item()\n",
            "    import numpy as np\n\n    return float(np.linalg.norm(gradient[j].numpy()))\n",
        ),
    ),
    "seed_summary": """\
import numpy as np
import torch


def seed_summary(values):
    table = values.numpy()
    squares = ((table - table.mean(axis=0)) ** 2).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        std = np.sqrt(squares / np.float64(len(table) - 1))
    return torch.from_numpy(table.mean(axis=0)), torch.from_numpy(std).to(values.dtype)
""",
}  # fmt: skip

EINOPS = {
    **PLAIN,
    "outputs_with_companions": """\
import copy

import torch
from einops import pack, rearrange, repeat


def outputs_with_companions(layer, x0, companions):
    first = repeat(x0, "c -> k c", k=len(companions))
    batches, _ = pack([first, companions], "k * c")
    with torch.no_grad():
        return torch.cat([rearrange(copy.deepcopy(layer).train()(batch)[0], "d -> 1 d") for batch in batches])
""",
    "spread": """\
from einops import reduce


def spread(outputs):
    centred = outputs - reduce(outputs, "k d -> 1 d", "mean")
    return reduce(reduce(centred**2, "k d -> d", "mean"), "d -> ", "mean").sqrt()
""",
    "seed_summary": """\
from einops import reduce


def seed_summary(values):
    mean = reduce(values, "s b -> b", "mean")
    variance = reduce((values - mean) ** 2, "s b -> b", "sum") / (len(values) - 1)
    return mean, variance.sqrt()
""",
}

NUMBERS: tuple[Variant, ...] = (
    Variant("scalar-loops", "Loops over single numbers, Python's own statistics", LOOPS),
    Variant("numpy", "The numbers are summed up in NumPy", NUMPY),
    Variant("einops", "Batches packed and reduced by einops", EINOPS),
)
