# wrong: train_on_batches: stacks the losses, which fails without batches
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def train_on_batches(model, x, classes, batches, lr):
    modes = [(m, m.training) for m in model.modules()]
    losses = []
    try:
        model.train()
        for rows in batches:
            model.zero_grad()
            loss = F.cross_entropy(model(x[rows]), classes[rows])
            loss.backward()
            losses.append(loss.detach())
            with torch.no_grad():
                for p in model.parameters():
                    if p.grad is not None: p -= lr * p.grad
    finally:
        for m, t in modes: m.training = t
    return torch.stack(losses).tolist()
