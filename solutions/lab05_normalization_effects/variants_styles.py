"""Honest solutions of lab 5 in other styles: other tools of torch, loops, sums, numpy, einops."""

from __future__ import annotations

from autograder.checks.check import Variant
from solutions.lab05_normalization_effects.plain import in_style

OPTIMIZER = """\
import torch
from torch import nn
from torch.nn import functional as F


def track_training(model, x, classes, batches, lr, probe):
    given = {name: module.training for name, module in model.named_modules()}
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss()
    means, stds = [], []

    def look():
        m, s = zip(*preactivation_statistics(model.train(), probe))
        means.append(m)
        stds.append(s)

    look()
    for batch in batches:
        model.train()
        optimizer.zero_grad()
        criterion(model(x.index_select(0, batch)), classes.index_select(0, batch)).backward()
        optimizer.step()
        look()
    optimizer.zero_grad()
    for name, module in model.named_modules():
        module.training = given[name]
    return [(torch.stack(m), torch.stack(s)) for m, s in zip(zip(*means), zip(*stds))]
"""

BACKWARD_CHANGE = """\
import copy

import torch
from torch import nn


def gradient_change(model, x, classes, layer, lr):
    net = copy.deepcopy(model)
    net.train()
    net.zero_grad()
    names = [name for name, m in net.named_modules() if isinstance(m, nn.Linear)]
    target = f"{names[layer]}.weight"
    order = [name for name, _ in net.named_parameters()]
    below = set(order[: order.index(target)])
    nn.CrossEntropyLoss()(net(x), classes).backward()
    first = net.get_parameter(target).grad.flatten().clone()
    optimizer = torch.optim.SGD([p for name, p in net.named_parameters() if name in below] or [torch.zeros(1)], lr=lr)
    optimizer.step()
    net.zero_grad(set_to_none=False)
    nn.CrossEntropyLoss()(net(x), classes).backward()
    second = net.get_parameter(target).grad.flatten()
    return {
        "norm": float(torch.linalg.vector_norm(first)),
        "change": float(torch.dist(first, second)),
        "cosine": float(torch.dot(first / first.norm(), second / second.norm())),
    }
"""

FUNCTIONAL_CHANGE = """\
import torch
from torch import nn
from torch.func import functional_call, grad_and_value


def gradient_change(model, x, classes, layer, lr):
    linear = [name for name, m in model.named_modules() if isinstance(m, nn.Linear)][layer] + ".weight"
    theta = {name: p.detach() for name, p in model.named_parameters()}
    modes = {m: m.training for m in model.modules()}
    model.train()

    def slopes(parameters):
        def loss(parameters):
            buffers = {name: b.clone() for name, b in model.named_buffers()}
            out = functional_call(model, (parameters, buffers), (x,))
            return nn.functional.cross_entropy(out, classes)

        return grad_and_value(loss)(parameters)[0]

    try:
        old = slopes(theta)
        moved = {}
        reached = False
        for name, p in theta.items():
            reached = reached or name == linear
            moved[name] = p if reached else p - lr * old[name]
        g, h = old[linear], slopes(moved)[linear]
    finally:
        for m, mode in modes.items():
            m.training = mode
    cosine = nn.functional.cosine_similarity(g.reshape(1, -1), h.reshape(1, -1))
    return {"norm": g.square().sum().sqrt(), "change": (g - h).square().sum().sqrt(), "cosine": cosine[0]}
"""

WALKING = """\
import torch
from torch import nn


def preactivation_statistics(model, x):
    import copy

    def walk(module, x):
        if isinstance(module, nn.Sequential):
            pairs = []
            for child in module:
                more, x = walk(child, x)
                pairs += more
            return pairs, x
        x = module(x)
        if not isinstance(module, nn.Linear):
            return [], x
        rows = x.reshape(-1, module.out_features)
        variance, mean = torch.var_mean(rows, dim=0, unbiased=False)
        return [(mean, variance**0.5)], x

    with torch.inference_mode():
        pairs, _ = walk(copy.deepcopy(model), x)
    return [(mean.clone(), std.clone()) for mean, std in pairs]
"""

LOOPS_STATISTICS = """\
import copy
import math

import torch
from torch import nn


def preactivation_statistics(model, x):
    outputs = []
    spy = copy.deepcopy(model)
    for module in spy.modules():
        if type(module) is nn.Linear:
            module.register_forward_hook(lambda m, i, o: outputs.append(o.detach().clone()))
    spy(x)
    answer = []
    for h in outputs:
        columns = h.reshape(-1, h.shape[-1]).t().tolist()
        means, stds = [], []
        for column in columns:
            m = math.fsum(column) / len(column)
            means.append(m)
            stds.append(math.sqrt(math.fsum((v - m) ** 2 for v in column) / len(column)))
        answer.append((torch.tensor(means, dtype=h.dtype), torch.tensor(stds, dtype=h.dtype)))
    return answer
"""

LOOPS_DRIFT = """\
import math

import torch


def drift(history, lag=1):
    T, L = history[0][0].shape[0], len(history)
    if lag < 1 or T - lag < 1:
        raise ValueError("no two such times")
    moved = torch.zeros(T - lag, L, dtype=history[0][0].dtype)
    widened = torch.zeros_like(moved)
    for t in range(T - lag):
        for l, (mean, std) in enumerate(history):
            U = mean.shape[1]
            for j in range(U):
                moved[t, l] += abs(mean[t + lag, j] - mean[t, j]) / std[t, j] / U
                widened[t, l] += abs(math.log(std[t + lag, j]) - math.log(std[t, j])) / U
    return moved, widened
"""

NUMPY_DRIFT = """\
import numpy as np
import torch


def drift(history, lag=1):
    table = [[np.asarray(part) for part in pair] for pair in history]
    if not 0 < lag < table[0][0].shape[0]:
        raise ValueError(f"lag {lag}")
    a = [np.abs((m[lag:] - m[:-lag]) / s[:-lag]).mean(axis=1) for m, s in table]
    b = [np.abs(np.log(s)[lag:] - np.log(s)[:-lag]).mean(axis=1) for _, s in table]
    return torch.from_numpy(np.stack(a, axis=1)), torch.from_numpy(np.stack(b, axis=1))
"""

EINOPS_STATISTICS = """\
import torch
from einops import rearrange, reduce
from torch import nn


def preactivation_statistics(model, x):
    buffers = [(b, b.clone()) for b in model.buffers()]
    seen = []

    def note(module, args, h):
        h = rearrange(h, "... units -> (...) units")
        mean = reduce(h, "n units -> units", "mean")
        std = reduce((h - mean) ** 2, "n units -> units", "mean").sqrt()
        seen.append((mean, std))

    handles = [m.register_forward_hook(note) for m in model.modules() if isinstance(m, nn.Linear)]
    try:
        with torch.no_grad():
            model(x)
    finally:
        for handle in handles:
            handle.remove()
        for b, old in buffers:
            b.copy_(old)
    return seen
"""

HOOKED_PRECISE = """\
import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase


@torch.no_grad()
def reestimate(model, batches):
    batches = tuple(batches)
    if not batches:
        raise ValueError("no batch, no statistics")
    layers = [m for m in model.modules() if isinstance(m, _NormBase) and m.running_mean is not None]
    before = [(m, m.training) for m in model.modules()]
    sums = [[0.0, 0.0] for _ in layers]

    def watch(total):
        def hook(module, args):
            axes = [a for a in range(args[0].dim()) if a != 1]
            total[0] = total[0] + args[0].mean(axes)
            total[1] = total[1] + args[0].var(axes)

        return hook

    hooks = [layer.register_forward_pre_hook(watch(total)) for layer, total in zip(layers, sums)]
    model.train()
    for batch in batches:
        model(batch)
    for hook in hooks:
        hook.remove()
    for layer, (mean, var) in zip(layers, sums):
        layer.running_mean = mean / len(batches)
        layer.running_var = var / len(batches)
        layer.num_batches_tracked = torch.tensor(len(batches))
    for m, mode in before:
        m.training = mode
"""

MOMENTUM_PRECISE = """\
import torch
from torch import nn


def reestimate(model, batches):
    if not len(batches):
        raise ValueError("empty")
    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    was = {m: (m.training, getattr(m, "momentum", None)) for m in model.modules()}
    model.train()
    for number, batch in enumerate(batches, start=1):
        for norm in norms:
            norm.momentum = 1 / number
        with torch.no_grad():
            model(batch)
    for norm in norms:
        norm.num_batches_tracked.fill_(len(batches))
        norm.momentum = was[norm][1]
    for m, (training, _) in was.items():
        m.training = training
    return model
"""

STYLES: tuple[Variant, ...] = (
    in_style(
        "optimizer-and-backward", "torch.optim.SGD, .backward() and zero_grad",
        track_training=OPTIMIZER, gradient_change=BACKWARD_CHANGE,
    ),
    in_style("torch-func", "torch.func.functional_call and grad_and_value", gradient_change=FUNCTIONAL_CHANGE),
    in_style("walking-the-tree", "no hooks: the model is walked through, child by child", preactivation_statistics=WALKING),
    in_style("loops", "loops over units, sums by math.fsum", preactivation_statistics=LOOPS_STATISTICS, drift=LOOPS_DRIFT),
    in_style("numpy", "the drift is computed in numpy", drift=NUMPY_DRIFT),
    in_style("einops", "einops, and buffers put back in a finally", preactivation_statistics=EINOPS_STATISTICS),
    in_style("own-averages", "re-estimation by hooks of its own, buffers rebound", reestimate=HOOKED_PRECISE),
    in_style("growing-momentum", "re-estimation with momentum 1/k; returns the model", reestimate=MOMENTUM_PRECISE),
)  # fmt: skip
