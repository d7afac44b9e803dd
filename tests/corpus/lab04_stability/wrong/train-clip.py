# wrong: train_on_batches: clips long gradients, which is a scaling
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def train_on_batches(model, x, classes, batches, lr):
    modes = [(m, m.training) for m in model.modules()]
    losses = []
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    try:
        model.train()
        for rows in batches:
            opt.zero_grad()
            loss = F.cross_entropy(model(x[rows]), classes[rows])
            loss.backward()
            losses.append(loss.item())
            nn.utils.clip_grad_norm_(model.parameters(), 1.0); opt.step()
    finally:
        for m, t in modes: m.training = t
    return losses
