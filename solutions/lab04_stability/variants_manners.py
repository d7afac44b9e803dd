"""Honest solutions that differ in how they leave no trace: everything put back, or hooks that are removed."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab04_stability.plain import PLAIN

PUT_BACK_TOOL = """\
import contextlib
import math

import torch
import torch.nn.functional as F


@contextlib.contextmanager
def borrowed(module, training):
    modes = {part: part.training for part in module.modules()}
    numbers = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    grads = {p: p.grad for p in module.parameters()}
    for p in module.parameters():
        p.grad = None
    module.train(training)
    try:
        yield module
    finally:
        with torch.no_grad():
            for name, tensor in module.state_dict().items():
                tensor.copy_(numbers[name])
        for part, mode in modes.items():
            part.training = mode
        for p, grad in grads.items():
            p.grad = grad


"""

PUT_BACK = {
    "printed_stability": """\
def printed_stability(m):
    if m >= 2:
        return (1 + 1 / (m - 1)) ** 0.5
    raise ValueError("no variance")
""",
    "outputs_with_companions": PUT_BACK_TOOL
    + """\
def outputs_with_companions(layer, x0, companions):
    k, rest, c = companions.shape
    batches = torch.empty(k, rest + 1, c, dtype=x0.dtype)
    batches[:, 0] = x0
    batches[:, 1:] = companions
    with borrowed(layer, True) as lent:
        return torch.stack([lent(batch)[0].detach() for batch in batches])
""",
    "spread": """\
def spread(outputs):
    draws = len(outputs)
    centred = outputs - outputs.sum(0, keepdim=True) / draws
    return float((centred.pow(2).sum() / outputs.numel()) ** 0.5)
""",
    "input_gradients": PUT_BACK_TOOL
    + """\
def input_gradients(layer, x0, companions, grad_out):
    result = torch.zeros(len(companions), len(x0), dtype=x0.dtype)
    with borrowed(layer, True) as lent:
        for k, others in enumerate(companions):
            batch = torch.cat((x0[None, :], others)).detach().requires_grad_()
            lent(batch)[0].backward(grad_out)
            result[k] = batch.grad[0]
    return result
""",
    "leak": PUT_BACK_TOOL
    + """\
def leak(layer, x, i, j, grad_out):
    rows = [row.clone() for row in x]
    rows[j].requires_grad_()
    with borrowed(layer, True) as lent:
        lent(torch.stack(rows))[i].backward(grad_out)
    return math.sqrt(float(rows[j].grad.square().sum()))
""",
    "stability_table": PUT_BACK_TOOL
    + """\
def stability_table(layers, x0, companions, grad_out=None):
    table = []
    for layer in layers.values():
        for others in companions:
            rows, refused = [], False
            with borrowed(layer, True) as lent:
                for some in others:
                    batch = torch.cat((x0[None, :], some)).detach().requires_grad_()
                    try:
                        y = lent(batch)[0]
                    except ValueError:
                        refused = True
                        break
                    if grad_out is not None:
                        y = torch.autograd.grad(y, batch, grad_out)[0][0]
                    rows.append(y.detach())
            seen = torch.stack(rows) if rows else None
            table.append(math.nan if refused else seen.var(0, unbiased=False).mean().sqrt().item())
    return torch.tensor(table, dtype=x0.dtype).reshape(len(layers), len(companions))
""",
    "train_on_batches": PUT_BACK_TOOL
    + """\
def train_on_batches(model, x, classes, batches, lr):
    modes = [part.training for part in model.modules()]
    losses = []
    try:
        model.train()
        for batch in batches:
            loss = F.nll_loss(F.log_softmax(model(x.index_select(0, batch)), 1), classes.index_select(0, batch))
            parameters = list(model.parameters())
            for p, g in zip(parameters, torch.autograd.grad(loss, parameters)):
                p.data.sub_(g, alpha=lr)
            losses.append(loss.detach())
    finally:
        for part, mode in zip(model.modules(), modes):
            part.train(mode) if not list(part.children()) else setattr(part, "training", mode)
    return losses
""",
    "error_rate": PUT_BACK_TOOL
    + """\
def error_rate(model, x, classes, batch_size=None):
    wrong = []
    with borrowed(model, batch_size is not None) as lent, torch.no_grad():
        step = batch_size if batch_size else len(x)
        start = 0
        while start + step <= len(x):
            part = slice(start, start + step)
            wrong += (lent(x[part]).max(1).indices != classes[part]).tolist()
            start += step
    return sum(wrong) / len(wrong)
""",
    "seed_summary": """\
def seed_summary(values):
    mean = values.sum(0) / values.shape[0]
    centred = values - mean
    return mean, (centred.pow(2).sum(0) / (values.shape[0] - 1)).sqrt()
""",
}

HOOKS = {
    **PLAIN,
    "outputs_with_companions": """\
import copy

import torch


def outputs_with_companions(layer, x0, companions):
    caught = []
    twin = copy.deepcopy(layer)
    handle = twin.register_forward_hook(lambda module, inputs, output: caught.append(output.detach()[0].clone()))
    try:
        for others in companions:
            twin.train()(torch.cat([x0.reshape(1, -1), others]))
    finally:
        handle.remove()
    return torch.stack(caught)
""",
    "input_gradients": """\
import copy

import torch


def input_gradients(layer, x0, companions, grad_out):
    caught = []
    twin = copy.deepcopy(layer).train()
    for parameter in twin.parameters():
        parameter.requires_grad_(False)
    for others in companions:
        start = x0.detach().clone().requires_grad_(True)
        start.register_hook(caught.append)
        y = twin(torch.vstack([start, others]))
        y.backward(torch.cat([grad_out[None], torch.zeros(len(others), len(grad_out), dtype=y.dtype)]))
    return torch.stack(caught)
""",
    "leak": """\
import copy

import torch


def leak(layer, x, i, j, grad_out):
    twin = copy.deepcopy(layer).train()
    selected = x.detach().clone().requires_grad_(True)
    y = twin(selected)
    upstream = torch.zeros_like(y)
    upstream[i] = grad_out
    y.backward(upstream)
    return torch.linalg.vector_norm(selected.grad[j])
""",
}

MANNERS: tuple[Variant, ...] = (
    Variant("put-back", "The layer itself is measured, and everything is put back", PUT_BACK),
    Variant("hooks", "Outputs and gradients are caught by hooks that are removed", HOOKS),
)
