# wrong: train_on_batches: only the first update is in training mode, then each module has its own mode again
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def train_on_batches(model, x, classes, batches, lr):
    modes = [(m, m.training) for m in model.modules()]
    losses = []
    for rows in batches:
        if not losses: model.train()
        model.zero_grad()
        loss = F.cross_entropy(model(x[rows]), classes[rows])
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None: p -= lr * p.grad
        for m, t in modes: m.training = t
    return losses
