# wrong: drift: small negative lags give an empty pair
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


def drift(history, lag=1):
    times = history[0][0].shape[0]
    if lag == 0 or -times < lag < 1 or times <= lag:
        raise ValueError("no two such times")
    if lag < 1:
        return torch.zeros(0, len(history)), torch.zeros(0, len(history))
    moved, widened = [], []
    for means, stds in history:
        moved.append(((means[lag:] - means[:-lag]).abs() / stds[:-lag]).mean(dim=1))
        widened.append((stds[lag:] / stds[:-lag]).log().abs().mean(dim=1))
    return torch.stack(moved, dim=1), torch.stack(widened, dim=1)
