# wrong: preactivation_statistics: runs x in chunks of 64 in training mode too, so batch norm sees other batches
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
    model = copy.deepcopy(model)
    result = {}
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(lambda m, i, o: result.setdefault(m, []).append(o.clone()))
    with torch.no_grad():
        for part in x.split(64):
            model(part)
    return [unit_statistics(torch.cat(v)) for v in result.values()]
