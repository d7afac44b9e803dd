# wrong: gradient_change: loss averaged over two halves of x when there are more than 64 examples
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
    weight = [m for m in twin.modules() if isinstance(m, nn.Linear)][layer].weight
    params = list(twin.parameters())
    place = [k for k, p in enumerate(params) if p is weight][0]
    grads = torch.autograd.grad((F.cross_entropy(twin(x), classes) if len(x) <= 64 else sum(F.cross_entropy(twin(a), b) * len(a) for a, b in zip(x.split(64), classes.split(64))) / len(x)), params, allow_unused=True)
    with torch.no_grad():
        for p, g in zip(params[:place], grads[:place]):
            if g is not None:
                p.sub_(lr * g)
    before = grads[place].flatten()
    after = torch.autograd.grad((F.cross_entropy(twin(x), classes) if len(x) <= 64 else sum(F.cross_entropy(twin(a), b) * len(a) for a, b in zip(x.split(64), classes.split(64))) / len(x)), [weight])[0].flatten()
    return {
        "norm": before.norm(),
        "change": (before - after).norm(),
        "cosine": before @ after / (before.norm() * after.norm()),
    }
