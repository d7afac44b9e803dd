# wrong: gradient_change: counts linear layers of the first two levels
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


def gradient_change(model, x, classes, layer, lr):
    x = x.detach()
    twin = copy.deepcopy(model).train().requires_grad_(True)
    weight = [m for n, m in twin.named_modules() if n.count('.') < 2 and isinstance(m, nn.Linear)][layer].weight
    params = list(twin.parameters())
    place = [k for k, p in enumerate(params) if p is weight][0]
    grads = torch.autograd.grad(F.cross_entropy(twin(x), classes), params, allow_unused=True)
    with torch.no_grad():
        for p, g in zip(params[:place], grads[:place]):
            if g is not None:
                p.sub_(lr * g)
    before = grads[place].flatten()
    after = torch.autograd.grad(F.cross_entropy(twin(x), classes), [weight])[0].flatten()
    return {
        "norm": before.norm(),
        "change": (before - after).norm(),
        "cosine": before @ after / (before.norm() * after.norm()),
    }
