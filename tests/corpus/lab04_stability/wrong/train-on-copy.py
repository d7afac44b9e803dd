# wrong: train_on_batches: trains a copy and copies only the parameters back, running statistics do not move
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def train_on_batches(model, x, classes, batches, lr):
    twin = copy.deepcopy(model).train()
    losses = []
    for rows in batches:
        twin.zero_grad()
        loss = F.cross_entropy(twin(x[rows]), classes[rows])
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for p in twin.parameters():
                if p.grad is not None: p -= lr * p.grad
    with torch.no_grad():
        for p, q in zip(model.parameters(), twin.parameters()): p.copy_(q)
    return losses
