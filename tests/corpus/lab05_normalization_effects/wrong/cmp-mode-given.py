# wrong: compare: a maker's model in evaluation mode is trained in evaluation mode
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
    result = []
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(lambda m, i, o: result.append(unit_statistics(o)))
    with torch.no_grad():
        model(x)
    return result


def look(model, probe):
    twin = copy.deepcopy(model)
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
    model.requires_grad_(True)
    looks = [look(model, probe)]
    params = list(model.parameters())
    for batch in batches:
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


def drift(history, lag=1):
    times = history[0][0].shape[0]
    if lag < 1 or times <= lag:
        raise ValueError("no two such times")
    moved, widened = [], []
    for means, stds in history:
        moved.append(((means[lag:] - means[:-lag]).abs() / stds[:-lag]).mean(dim=1))
        widened.append((stds[lag:] / stds[:-lag]).log().abs().mean(dim=1))
    return torch.stack(moved, dim=1), torch.stack(widened, dim=1)


def compare(makers, seeds, x, classes, batches, lr, probe):
    if len(seeds) < 2:
        raise ValueError("one run has no error bar")
    models = {kind: [make(seed) for seed in seeds] for kind, make in makers.items()}
    units = {
        kind: [m.out_features for m in group[0].modules() if isinstance(m, nn.Linear)]
        for kind, group in models.items()
    }
    shapes = list(units.values())
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError("no matched points")
    result = {}
    for kind, group in models.items():
        runs = []
        for model in group:
            history = track_training(model, x, classes, batches, lr, probe)
            runs.append(drift(history)[0].mean(dim=0))
        runs = torch.stack(runs)
        result[kind] = (runs.mean(dim=0), runs.std(dim=0))
    return result
