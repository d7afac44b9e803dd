"""Honest solutions in unusual manners: everything in float32 inside; Greek letters, German words, prints and warnings."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab04_stability.plain import PLAIN, edit

LOW = {
    "printed_stability": """\
import torch


def printed_stability(m):
    if m < 2:
        raise ValueError("a batch of one")
    return torch.tensor(m / (m - 1), dtype=torch.float32).sqrt().item()
""",
    "outputs_with_companions": edit(
        PLAIN["outputs_with_companions"],
        ("    model = copy.deepcopy(layer)\n", "    model = copy.deepcopy(layer).float()\n"),
        ("batch = torch.cat([x0.unsqueeze(0), others])", "batch = torch.cat([x0.unsqueeze(0), others]).float()"),
        ("    return torch.stack(rows)\n", "    return torch.stack(rows).to(x0.dtype)\n"),
    ),
    "spread": edit(PLAIN["spread"], ("    mean = outputs", "    outputs = outputs.float()\n    mean = outputs")),
    "input_gradients": edit(
        PLAIN["input_gradients"],
        ("    model = copy.deepcopy(layer)\n", "    model = copy.deepcopy(layer).float()\n"),
        ("batch = torch.cat([leaf.unsqueeze(0), others])", "batch = torch.cat([leaf.unsqueeze(0), others]).float()"),
    ),
    "leak": edit(
        PLAIN["leak"],
        ("    model = copy.deepcopy(layer)\n", "    model = copy.deepcopy(layer).float()\n"),
        ("y = model(leaf)", "y = model(leaf.float())"),
    ),
    "stability_table": edit(
        PLAIN["stability_table"], ("    rows = torch.stack(rows)\n", "    rows = torch.stack(rows).float()\n")
    ),
    "train_on_batches": """\
import copy

import torch
from torch import nn


def train_on_batches(model, x, classes, batches, lr):
    low = copy.deepcopy(model).float().train()
    optimizer = torch.optim.SGD(low.parameters(), lr=lr)
    losses = []
    for batch in batches:
        loss = nn.functional.cross_entropy(low(x[batch].float()), classes[batch])
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.load_state_dict(low.state_dict())
    return losses
""",
    "error_rate": PLAIN["error_rate"],
    "seed_summary": edit(
        PLAIN["seed_summary"],
        ("    mean = values.mean(dim=0)\n", "    low = values.float()\n    mean = low.mean(dim=0).to(values.dtype)\n"),
        ("values.std(dim=0, correction=1)", "low.std(dim=0, correction=1).to(values.dtype)"),
    ),
}

LOUD = {
    "printed_stability": """\
import warnings


def printed_stability(m, /):
    warnings.warn("this number does not look at any data")
    if not m > 1:
        raise ValueError("?")
    return pow(m, 0.5) / pow(m - 1, 0.5)
""".replace("m, /", "m"),
    "outputs_with_companions": """\
from copy import deepcopy as zwilling

import torch as τ


def outputs_with_companions(layer, x0, companions):
    print(layer, x0.shape, companions.shape)
    schicht = zwilling(layer).train(True)
    ψ = [schicht(τ.vstack((x0, *gefährten)))[0] for gefährten in companions]
    print("ψ", ψ)
    return τ.stack(ψ).detach()
""",
    "spread": """\
import torch as τ


def spread(outputs):
    σ2, μ = τ.var_mean(outputs, 0, correction=0)
    print("μ =", μ, "σ² =", σ2)
    return σ2.mean().pow(1 / 2)
""",
    "input_gradients": """\
from copy import deepcopy as zwilling

import torch as τ


def input_gradients(layer, x0, companions, grad_out):
    ξ = [x0.detach().clone().requires_grad_() for _ in companions]
    schicht = zwilling(layer).train(True)
    ℓ = sum(grad_out @ schicht(τ.vstack((a, *b)))[0] for a, b in zip(ξ, companions))
    ℓ.backward()
    print(ℓ)
    return τ.stack([a.grad for a in ξ])
""",
    "leak": """\
from copy import deepcopy as zwilling

import torch as τ


def leak(layer, x, i, j, grad_out):
    print("from", j, "to", i)
    χ = x.detach().clone().requires_grad_()
    (grad_out @ zwilling(layer).train(True)(χ)[i]).backward()
    return τ.linalg.norm(χ.grad[j])
""",
    "stability_table": """\
from copy import deepcopy as zwilling

import torch as τ


def stability_table(layers, x0, companions, grad_out=None):
    def zeile(schicht, gefährten):
        ξ = x0.detach().clone().requires_grad_()
        y = zwilling(schicht).train(True)(τ.vstack((ξ, *gefährten)))[0]
        return y.detach() if grad_out is None else τ.autograd.grad(grad_out @ y, ξ)[0]

    tafel = τ.full((len(layers), len(companions)), τ.nan, dtype=x0.dtype)
    for r, (name, schicht) in enumerate(layers.items()):
        for s, mengen in enumerate(companions):
            try:
                ψ = τ.stack([zeile(schicht, gefährten) for gefährten in mengen])
            except ValueError as grund:
                print(name, "refuses:", grund)
            else:
                tafel[r, s] = ψ.var(0, correction=0).mean().sqrt()
    print(tafel)
    return tafel
""",
    "train_on_batches": """\
import torch as τ


def train_on_batches(model, x, classes, batches, lr):
    vorher = [(teil, teil.training) for teil in model.modules()]
    verluste = []
    abstieg = τ.optim.SGD(model.parameters(), lr=lr, momentum=0.0, weight_decay=0.0, foreach=False)
    for nummer, reihen in enumerate(batches):
        [teil.train(True) for teil in model.modules()]
        verlust = τ.nn.CrossEntropyLoss(reduction="none")(model(x[reihen]), classes[reihen]).mean()
        print(nummer, verlust)
        model.zero_grad(set_to_none=True)
        verlust.backward()
        abstieg.step()
        verluste.append(verlust)
    for teil, war in vorher:
        teil.training = war
    return verluste
""",
    "error_rate": """\
from copy import deepcopy as zwilling

import torch as τ


def error_rate(model, x, classes, batch_size=None):
    netz = zwilling(model)
    netz.train(mode=batch_size is not None)
    n = len(x) if batch_size is None else batch_size
    teile = zip(*[τ.arange(len(x)).tolist()[k::n] for k in range(n)])
    falsch = τ.tensor([bool(netz(x[list(t)]).argmax(1)[k] != classes[z]) for t in teile for k, z in enumerate(t)])
    print(falsch.sum())
    return falsch.double().mean()
""".replace("netz(x[list(t)]).argmax(1)[k] != classes[z]", "a != classes[z]").replace(
        "for t in teile for k, z in enumerate(t)", "for t in teile for z, a in zip(t, netz(x[list(t)]).argmax(1))"
    ),
    "seed_summary": """\
import torch as τ


def seed_summary(values):
    print(values)
    σ2, μ = τ.var_mean(values, dim=0)
    return μ, σ2**0.5
""",
}

STYLES: tuple[Variant, ...] = (
    Variant("float32-inside", "Everything is computed in float32, and cast back", LOW),
    Variant("loud-and-greek", "Greek letters, German words, prints and warnings", LOUD),
)
