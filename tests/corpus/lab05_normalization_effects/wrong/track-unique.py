# wrong: track_training: a place that stands twice in a batch is used once
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


def look(model, probe):
    twin = copy.deepcopy(model).train()
    result = []
    for module in twin.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(lambda m, i, o: result.append(unit_statistics(o)))
    with torch.no_grad():
        twin(probe)
    return result


def track_training(model, x, classes, batches, lr, probe):
    modes = [(m, m.training) for m in model.modules()]
    wanted = [(p, p.requires_grad) for p in model.parameters()]
    model.train()
    model.requires_grad_(True)
    looks = [look(model, probe)]
    params = list(model.parameters())
    for batch in batches:
        batch = batch.unique()
        loss = F.cross_entropy(model(x[batch]), classes[batch])
        grads = torch.autograd.grad(loss, params, allow_unused=True)
        with torch.no_grad():
            for p, g in zip(params, grads):
                if g is not None:
                    p.sub_(lr * g)
        looks.append(look(model, probe))
    for m, mode in modes:
        m.training = mode
    for p, flag in wanted:
        p.requires_grad_(flag)
    return [
        (torch.stack([s[k][0] for s in looks]), torch.stack([s[k][1] for s in looks]))
        for k in range(len(looks[0]))
    ]
