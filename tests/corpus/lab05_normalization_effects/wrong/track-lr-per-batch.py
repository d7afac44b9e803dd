# wrong: track_training: scales the step by the size of the batch relative to the first
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
                p -= lr * g * len(batch) / len(batches[0])
        times.append(statistics(copy.deepcopy(model), probe))
    for m, training in modes:
        m.training = training
    history = []
    for layer in zip(*times):
        means, stds = zip(*layer)
        history.append((torch.stack(means), torch.stack(stds)))
    return history
