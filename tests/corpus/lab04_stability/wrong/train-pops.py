# wrong: train_on_batches: takes the batches out of the caller's list
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
        given = batches if isinstance(batches, list) else list(batches)
        while given:
            rows = given.pop(0)
            opt.zero_grad()
            loss = F.cross_entropy(model(x[rows]), classes[rows])
            loss.backward()
            losses.append(loss.item())
            opt.step()
    finally:
        for m, training in modes:
            m.training = training
    return losses
