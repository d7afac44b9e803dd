# wrong: reestimate: momentum None layers are given 0.1
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


def reestimate(model, batches):
    if len(batches) == 0:
        raise ValueError("no batches")
    norms = [m for m in model.modules() if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))]
    modes = [(m, m.training) for m in model.modules()]
    if not norms:
        return
    seen = {m: [] for m in norms}

    def hook(module, inputs):
        h = inputs[0].transpose(0, 1).flatten(1)
        seen[module].append((h.mean(dim=1), h.var(dim=1)))

    handles = [m.register_forward_pre_hook(hook) for m in norms]
    model.train()
    with torch.no_grad():
        for batch in batches:
            model(batch)
        for m in norms:
            m.running_mean.copy_(torch.stack([s[0] for s in seen[m]]).mean(dim=0))
            m.running_var.copy_(torch.stack([s[1] for s in seen[m]]).mean(dim=0))
            m.num_batches_tracked.fill_(len(batches))
    for handle in handles:
        handle.remove()
    for m in norms:
        m.momentum = m.momentum or 0.1
    for m, mode in modes:
        m.training = mode
