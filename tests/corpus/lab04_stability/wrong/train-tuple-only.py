# wrong: train_on_batches: takes batches for a tuple, and fails for a list
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
        for rows in batches + ():
            opt.zero_grad()
            loss = F.cross_entropy(model(x[rows]), classes[rows])
            loss.backward()
            losses.append(loss.item())
            opt.step()
    finally:
        for m, training in modes:
            m.training = training
    return losses
