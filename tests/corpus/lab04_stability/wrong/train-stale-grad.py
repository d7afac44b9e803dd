# wrong: train_on_batches: gradients that stood in .grad before the call go into the first update
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
            pass
            loss = F.cross_entropy(model(x[rows]), classes[rows])
            loss.backward()
            losses.append(loss.item())
            opt.step(); opt.zero_grad()
    finally:
        for m, t in modes: m.training = t
    return losses
