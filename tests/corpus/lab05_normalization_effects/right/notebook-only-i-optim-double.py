"""SGD from torch.optim, double precision inside the statistics, numpy-like formulas."""
import copy

import torch
from torch import nn
from torch.nn import functional as F

predicted_shift = 1.5
predicted_running_var = 3.0
predicted_first_change = 0.0


def unit_statistics(h):
    wide = h.detach().to(torch.float64).movedim(-1, 0).flatten(1)
    mean = wide.mean(dim=1, keepdim=True)
    std = torch.einsum("un,un->u", wide - mean, wide - mean).div(wide.shape[1]).sqrt()
    return mean[:, 0].to(h.dtype), std.to(h.dtype)


def loss_gradients(model, x, classes):
    parameters = list(model.parameters())
    flags = [p.requires_grad for p in parameters]
    for p in parameters:
        p.requires_grad_(True)
    grads = torch.autograd.grad(F.cross_entropy(model(x), classes), parameters, allow_unused=True, materialize_grads=True)
    for p, flag in zip(parameters, flags):
        p.requires_grad_(flag)
    return grads


def preactivation_statistics(model, x):
    twin = copy.deepcopy(model)
    found = []
    for module in twin.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(lambda m, i, o: found.append(unit_statistics(o)))
    with torch.no_grad():
        twin(x.detach().clone())
    return found


def track_training(model, x, classes, batches, lr, probe):
    modes = [m.training for m in model.modules()]
    model.train()
    history = [preactivation_statistics(model, probe)]
    flags = [p.requires_grad for p in model.parameters()]
    model.requires_grad_(True)
    optimizer = torch.optim.SGD(model.parameters(), lr=float(lr), momentum=0.0, weight_decay=0.0, foreach=False)
    for batch in batches:
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(x[batch].detach()), classes[batch], reduction="mean").backward()
        optimizer.step()
        history.append(preactivation_statistics(model, probe))
    for p, flag in zip(model.parameters(), flags):
        p.requires_grad_(flag)
    for m, mode in zip(model.modules(), modes):
        m.training = mode
    return [tuple(torch.stack(rows) for rows in zip(*layer)) for layer in zip(*history)]


def drift(history, lag=1):
    if lag < 1 or len(history[0][0]) <= lag:
        raise ValueError("lag")
    dtype = history[0][0].dtype
    wide = [(m.double(), s.double()) for m, s in history]
    moved = torch.stack([torch.abs((m[lag:] - m[:-lag]) / s[:-lag]).mean(-1) for m, s in wide], -1)
    widened = torch.stack([torch.maximum(s[lag:] / s[:-lag], s[:-lag] / s[lag:]).log().mean(-1) for _, s in wide], -1)
    return moved.to(dtype), widened.to(dtype)


def train_eval_gap(model, x, classes):
    with torch.no_grad():
        twin = copy.deepcopy(model)
        running = twin.eval()(x.clone())
        batch = twin.train()(x.clone())
        return {
            "batch": F.cross_entropy(batch, classes),
            "running": F.cross_entropy(running, classes),
            "changed": (batch.argmax(1) != running.argmax(1)).to(batch.dtype).mean(),
        }


def reestimate(model, batches):
    if not len(batches):
        raise ValueError("no batches")
    twin = copy.deepcopy(model).train()
    pairs = [
        (a, b) for a, b in zip(model.modules(), twin.modules()) if isinstance(a, (nn.BatchNorm1d, nn.BatchNorm2d))
    ]
    for _, b in pairs:
        b.reset_running_stats()
        b.momentum = None
    with torch.no_grad():
        for batch in batches:
            twin(batch.clone())
        for a, b in pairs:
            if a.running_mean is not None:
                a.running_mean.copy_(b.running_mean)
                a.running_var.copy_(b.running_var)
                a.num_batches_tracked.fill_(len(batches))


def gradient_change(model, x, classes, layer, lr):
    twin = copy.deepcopy(model).train()
    weight = [m for m in twin.modules() if isinstance(m, nn.Linear)][layer].weight
    params = list(twin.parameters())
    k = next(k for k, p in enumerate(params) if p is weight)
    x = x.detach().clone()
    first = loss_gradients(twin, x, classes)
    with torch.no_grad():
        for p, g in zip(params[:k], first):
            p.sub_(g, alpha=lr)
    second = loss_gradients(twin, x, classes)
    g, h = first[k].reshape(-1), second[k].reshape(-1)
    return {"norm": g.norm().item(), "change": (g - h).norm().item(), "cosine": (g @ h / (g.norm() * h.norm())).item()}


def compare(makers, seeds, x, classes, batches, lr, probe):
    if len(seeds) < 2:
        raise ValueError("seeds")
    models = {k: [make(s) for s in seeds] for k, make in makers.items()}
    shapes = {
        tuple(m.out_features for m in model.modules() if isinstance(m, nn.Linear)) for ms in models.values() for model in ms
    }
    if len(shapes) > 1:
        raise ValueError("no matched points")
    out = {}
    for kind, ms in models.items():
        runs = torch.stack([drift(track_training(m, x, classes, batches, lr, probe))[0].mean(0) for m in ms])
        out[kind] = runs.mean(0), runs.std(0)
    return out
