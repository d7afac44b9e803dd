# wrong: compare: ignores the last layer when it compares widths
import copy

import torch
from torch import nn
from torch.nn import functional as F


def statistics(model, x):
    found = []

    def hook(layer, inputs, output):
        h = output.reshape(-1, output.shape[-1])
        found.append((h.mean(0), h.std(0, correction=0)))

    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            layer.register_forward_hook(hook)
    with torch.no_grad():
        model(x)
    return found


def track_training(model, x, classes, batches, lr, probe):
    modes = [(m, m.training) for m in model.modules()]
    model.train()
    times = [statistics(copy.deepcopy(model), probe)]
    for batch in batches:
        loss = F.cross_entropy(model(x[batch]), classes[batch])
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        with torch.no_grad():
            for p, g in zip(model.parameters(), gradients):
                p -= lr * g
        times.append(statistics(copy.deepcopy(model), probe))
    for m, training in modes:
        m.training = training
    history = []
    for layer in zip(*times):
        means, stds = zip(*layer)
        history.append((torch.stack(means), torch.stack(stds)))
    return history


import torch


def drift(history, lag=1):
    times = len(history[0][0])
    if lag < 1 or lag >= times:
        raise ValueError(f"{times} times hold no two that are {lag} updates apart")
    moved, widened = [], []
    for mean, std in history:
        step = (mean[lag:] - mean[:-lag]) / std[:-lag]
        ratio = torch.log(std[lag:] / std[:-lag])
        moved.append(step.abs().mean(dim=1))
        widened.append(ratio.abs().mean(dim=1))
    return torch.stack(moved, dim=1), torch.stack(widened, dim=1)


import torch
from torch import nn


def compare(makers, seeds, x, classes, batches, lr, probe):
    if len(seeds) < 2:
        raise ValueError("one seed has no error bar")
    widths = []
    for make in makers.values():
        widths.append([m.out_features for m in make(seeds[0]).modules() if isinstance(m, nn.Linear)][:-1])
    if any(w != widths[0] for w in widths):
        raise ValueError(f"no matched points: {widths}")
    table = {}
    for name, make in makers.items():
        runs = []
        for seed in seeds:
            history = track_training(make(seed), x, classes, batches, lr, probe)
            runs.append(drift(history)[0].mean(dim=0))
        runs = torch.stack(runs)
        table[name] = (runs.mean(dim=0), runs.std(dim=0))
    return table
