# wrong: train_on_batches: steps are scaled by the size of the batch relative to the first
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def train_on_batches(model, x, classes, batches, lr):
    modes = [(m, m.training) for m in model.modules()]
    losses = []
    opt = torch.optim.SGD(model.parameters(), lr=lr); first = len(batches[0]) if len(batches) else 1
    try:
        model.train()
        for rows in batches:
            opt.zero_grad()
            loss = F.cross_entropy(model(x[rows]), classes[rows])
            loss.backward()
            losses.append(loss.item())
            opt.param_groups[0]["lr"] = lr * len(rows) / first; opt.step()
    finally:
        for m, t in modes: m.training = t
    return losses
