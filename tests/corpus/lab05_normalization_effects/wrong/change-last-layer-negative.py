# wrong: gradient_change: counts the layers from 1
import copy

import torch
from torch import nn
from torch.nn import functional as F


def gradient_change(model, x, classes, layer, lr):
    model = copy.deepcopy(model)
    model.train()
    linear = [m for m in model.modules() if isinstance(m, nn.Linear)][layer - 1]
    below = []
    for p in model.parameters():
        if p is linear.weight:
            break
        below.append(p)
    loss = F.cross_entropy(model(x), classes)
    *grads, old = torch.autograd.grad(loss, [*below, linear.weight])
    with torch.no_grad():
        for p, g in zip(below, grads):
            p -= lr * g
    loss = F.cross_entropy(model(x), classes)
    new = torch.autograd.grad(loss, linear.weight)[0]
    norm = old.norm()
    change = (old - new).norm()
    cosine = (old * new).sum() / (old.norm() * new.norm())
    return {"norm": norm.item(), "change": change.item(), "cosine": cosine.item()}
