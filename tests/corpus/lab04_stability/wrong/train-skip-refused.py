# wrong: train_on_batches: a batch that the model refuses is skipped in silence
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def train_on_batches(model, x, classes, batches, lr):
    modes = [(m, m.training) for m in model.modules()]
    losses = []
    model.train()
    for rows in batches:
        model.zero_grad()
        try:
            loss = F.cross_entropy(model(x[rows]), classes[rows])
        except ValueError:
            continue
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None: p -= lr * p.grad
    for m, t in modes: m.training = t
    return losses
