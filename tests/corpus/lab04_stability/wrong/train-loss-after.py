# wrong: train_on_batches: returns the loss after each update, and moves the statistics twice
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
            F.cross_entropy(model(x[rows]), classes[rows]).backward()
            with torch.no_grad():
                for p in model.parameters():
                    if p.grad is not None: p -= lr * p.grad
                losses.append(F.cross_entropy(model(x[rows]), classes[rows]).item())
    finally:
        for m, t in modes: m.training = t
    return losses
