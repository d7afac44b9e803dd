"""Honest solutions that build: every measured layer anew, or each function on the earlier ones."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab04_stability.plain import PLAIN

REBUILT_TOOL = """\
import io

import torch
from torch import nn


def rebuilt(module, training):
    parts = [(name, child) for name, child in module.named_children()]
    if parts:
        return nn.Sequential(*[rebuilt(child, training) for _, child in parts])
    kinds = dict(module.__dict__)
    fresh = module.__class__.__new__(module.__class__)
    fresh.__dict__.update(kinds)
    fresh._parameters = {n: None if p is None else nn.Parameter(p.detach().clone()) for n, p in module._parameters.items()}
    fresh._buffers = {n: None if b is None else b.clone() for n, b in module._buffers.items()}
    return fresh.train(training)


"""

REBUILT = {
    **PLAIN,
    "outputs_with_companions": REBUILT_TOOL
    + """\
def outputs_with_companions(layer, x0, companions):
    return torch.cat([rebuilt(layer, True)(torch.cat([x0[None], others]))[:1].detach() for others in companions])
""",
    "input_gradients": REBUILT_TOOL
    + """\
def input_gradients(layer, x0, companions, grad_out):
    def one(others):
        function = lambda start: rebuilt(layer, True)(torch.cat([start[None], others]))[0]
        return torch.autograd.functional.vjp(function, x0, grad_out)[1]

    return torch.stack([one(others) for others in companions])
""",
    "leak": REBUILT_TOOL
    + """\
def leak(layer, x, i, j, grad_out):
    def function(row):
        rows = [row if n == j else other for n, other in enumerate(x)]
        return rebuilt(layer, True)(torch.stack(rows))[i]

    jacobian = torch.autograd.functional.jacobian(function, x[j])
    return (grad_out @ jacobian).norm().item()
""",
    "error_rate": REBUILT_TOOL
    + """\
@torch.no_grad()
def error_rate(model, x, classes, batch_size=None):
    network = rebuilt(model, batch_size is not None)
    if batch_size is None:
        return 1.0 - (network(x).argmax(-1) == classes).double().mean().item()
    full = [part for part in torch.arange(len(x)).split(batch_size) if len(part) == batch_size]
    rates = [(network(x[part]).argmax(-1) != classes[part]).double().mean() for part in full]
    return torch.stack(rates).mean()
""",
}

TOGETHER_TOOL = PLAIN["outputs_with_companions"] + "\n\n" + PLAIN["spread"] + "\n\n" + PLAIN["input_gradients"]

TOGETHER = {
    **PLAIN,
    "stability_table": TOGETHER_TOOL
    + """

def stability_table(layers, x0, companions, grad_out=None):
    def measured(layer, others):
        try:
            if grad_out is not None:
                return spread(input_gradients(layer, x0, others, grad_out))
            return spread(outputs_with_companions(layer, x0, others))
        except ValueError:
            return float("nan")

    return x0.new_tensor([[measured(layer, others) for others in companions] for layer in layers.values()])
""",
    "error_rate": """\
import copy

import torch


def error_rate(model, x, classes, batch_size=None):
    match batch_size:
        case None:
            inputs, answers, network = x[None], classes[None], copy.deepcopy(model).eval()
        case size:
            count = len(x) // size
            inputs = x[: count * size].reshape(count, size, -1)
            answers, network = classes[: count * size].reshape(count, size), copy.deepcopy(model).train()
    with torch.inference_mode():
        wrong = [(network(part).argmax(1) != right).float() for part, right in zip(inputs, answers)]
    return torch.stack(wrong).mean().item()
""",
    "train_on_batches": """\
import torch


class Descent:
    def __init__(self, parameters, rate):
        self.parameters, self.rate = list(parameters), rate

    def step(self):
        with torch.no_grad():
            torch._foreach_add_(self.parameters, [p.grad for p in self.parameters], alpha=-self.rate)

    def forget(self):
        for p in self.parameters:
            p.grad = None


def train_on_batches(model, x, classes, batches, lr):
    modes = {name: part.training for name, part in model.named_modules()}
    descent, losses = Descent(model.parameters(), lr), []
    for rows in batches:
        model.train()
        descent.forget()
        loss = torch.nn.CrossEntropyLoss()(model(x[rows]), classes[rows])
        loss.backward()
        descent.step()
        losses += [float(loss)]
    for name, part in model.named_modules():
        part.training = modes[name]
    return tuple(losses)
""",
}

BUILT: tuple[Variant, ...] = (
    Variant("rebuilt", "Every measurement on a layer that is built anew; vjp and jacobian", REBUILT),
    Variant("one-on-another", "The table on top of the earlier functions; a class for the descent; match", TOGETHER),
)
