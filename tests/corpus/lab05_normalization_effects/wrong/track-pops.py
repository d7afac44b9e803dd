# wrong: track_training: takes the batches out of the caller's list
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
    given = batches if isinstance(batches, list) else list(batches)
    while given:
        batch = given.pop(0)
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
