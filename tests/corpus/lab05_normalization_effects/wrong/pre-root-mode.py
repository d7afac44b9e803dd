# wrong: preactivation_statistics: the root's mode is given to all modules, frozen batch norms too
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


def preactivation_statistics(model, x):
    model = copy.deepcopy(model).train(model.training)
    result = []
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(lambda m, i, o: result.append(unit_statistics(o)))
    with torch.no_grad():
        model(x)
    return result
