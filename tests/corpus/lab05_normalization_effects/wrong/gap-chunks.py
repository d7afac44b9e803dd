# wrong: train_eval_gap: batches of 32 in training mode
import copy

import torch
from torch import nn
from torch.nn import functional as F


def unit_statistics(h):
    h = h.detach().reshape(-1, h.shape[-1])
    mean = h.mean(dim=0)
    return mean, (h - mean).square().mean(dim=0).sqrt()


def loss_gradients(model, x, classes):
    return torch.autograd.grad(F.cross_entropy(model(x), classes), list(model.parameters()))


def train_eval_gap(model, x, classes):
    modes = [(m, m.training) for m in model.modules()]
    saved = [(b, b.clone()) for b in model.buffers()]
    with torch.no_grad():
        model.eval()
        running = model(x)
        model.train()
        batch = torch.cat([model(part) for part in x.split(32)])
        for b, old in saved:
            b.copy_(old)
    for m, mode in modes:
        m.training = mode
    changed = (running.argmax(dim=1) != batch.argmax(dim=1)).double().mean()
    return {
        "batch": F.cross_entropy(batch, classes).item(),
        "running": F.cross_entropy(running, classes).item(),
        "changed": changed.item(),
    }
