"""Nothing of the given model is ever called: torch.func does it with copies of its tensors."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad


def split(model):
    parameters = {name: p.detach().clone() for name, p in model.named_parameters()}
    buffers = {name: b.detach().clone() for name, b in model.named_buffers()}
    return parameters, buffers


class modes:
    """Every module in one mode, and afterwards in its own."""

    def __init__(self, model, training):
        self.model, self.training = model, training

    def __enter__(self):
        self.before = {m: m.training for m in self.model.modules()}
        self.model.train(self.training)

    def __exit__(self, *_):
        for m, training in self.before.items():
            m.training = training


def unit_statistics(h):
    rows = h.flatten(0, -2)
    mean = rows.mean(0)
    return mean, (rows - mean).square().mean(0).sqrt()


def watched(model, parameters, buffers, x):
    found = []
    handles = [
        m.register_forward_hook(lambda m, i, o: found.append(unit_statistics(o.detach())))
        for m in model.modules()
        if isinstance(m, nn.Linear)
    ]
    try:
        with torch.no_grad():
            functional_call(model, ({**parameters}, {k: b.clone() for k, b in buffers.items()}), (x,))
    finally:
        for handle in handles:
            handle.remove()
    return found


def preactivation_statistics(model, x):
    return watched(model, *split(model), x)


def track_training(model, x, classes, batches, lr, probe):
    parameters, buffers = split(model)

    def loss(p, rows):
        return F.cross_entropy(functional_call(model, (p, buffers), (x[rows],)), classes[rows])

    with modes(model, True):
        seen = [watched(model, parameters, buffers, probe)]
        for rows in batches:
            g = grad(lambda p: F.cross_entropy(functional_call(model, (p, moving(buffers)), (x[rows],)), classes[rows]))(parameters)
            with torch.no_grad():  # the statistics move in a pass of their own
                functional_call(model, (parameters, buffers), (x[rows],))
            parameters = {k: p - lr * g[k] for k, p in parameters.items()}
            seen.append(watched(model, parameters, buffers, probe))
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(parameters[name])
        for name, b in model.named_buffers():
            b.copy_(buffers[name])
    return [tuple(torch.stack(kind) for kind in zip(*layer)) for layer in zip(*seen)]


def moving(buffers):
    return {k: b.clone() for k, b in buffers.items()}


def drift(history, lag=1):
    times = history[0][0].shape[0]
    if not 1 <= lag < times:
        raise ValueError(f"lag {lag} of {times} times")
    moved = [((m[lag:] - m[:-lag]).abs() / s[:-lag]).mean(1) for m, s in history]
    widened = [(s[lag:].log() - s[:-lag].log()).abs().mean(1) for _, s in history]
    return torch.stack(moved, -1), torch.stack(widened, -1)


def train_eval_gap(model, x, classes):
    answers = {}
    for training in (True, False):
        with modes(model, training), torch.no_grad():
            answers[training] = functional_call(model, split(model), (x,))
    share = (answers[True].argmax(-1) != answers[False].argmax(-1)).sum() / len(x)
    return {
        "batch": float(F.cross_entropy(answers[True], classes)),
        "running": float(F.cross_entropy(answers[False], classes)),
        "changed": float(share),
    }


def reestimate(model, batches):
    if not len(batches):
        raise ValueError("nothing to average")
    norms = [m for m in model.modules() if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))]
    sums = {m: [0.0, 0.0] for m in norms}

    def look(m, inputs):
        z = inputs[0].detach()
        axes = [a for a in range(z.ndim) if a != 1]
        var, mean = torch.var_mean(z, axes)
        sums[m][0] = sums[m][0] + mean
        sums[m][1] = sums[m][1] + var

    handles = [m.register_forward_pre_hook(look) for m in norms]
    with modes(model, True), torch.no_grad():
        for batch in batches:
            functional_call(model, split(model), (batch,))
    for handle in handles:
        handle.remove()
    for m, (mean, var) in sums.items():
        m.running_mean.copy_(mean / len(batches))
        m.running_var.copy_(var / len(batches))
        m.num_batches_tracked.fill_(len(batches))


def gradient_change(model, x, classes, layer, lr):
    linear = [m for m in model.modules() if isinstance(m, nn.Linear)][layer]
    names = [name for name, _ in model.named_parameters()]
    mine = next(name for name, p in model.named_parameters() if p is linear.weight)
    parameters, buffers = split(model)

    def loss(p):
        return F.cross_entropy(functional_call(model, (p, moving(buffers)), (x,)), classes)

    with modes(model, True):
        before = grad(loss)(parameters)
        stepped = {k: p - lr * before[k] if names.index(k) < names.index(mine) else p for k, p in parameters.items()}
        after = grad(loss)(stepped)
    old, new = before[mine].flatten(), after[mine].flatten()
    return {
        "norm": old.norm().item(),
        "change": torch.dist(old, new).item(),
        "cosine": (old.dot(new) / (old.norm() * new.norm())).item(),
    }


def compare(makers, seeds, x, classes, batches, lr, probe):
    seeds = list(seeds)
    if len(seeds) < 2:
        raise ValueError("no bar")
    widths = {
        tuple(m.out_features for m in make(seeds[0]).modules() if isinstance(m, nn.Linear)) for make in makers.values()
    }
    if len(widths) > 1:
        raise ValueError(f"points do not match: {widths}")
    out = {}
    for kind, make in makers.items():
        runs = torch.stack(
            [drift(track_training(make(s), x, classes, batches, lr, probe))[0].mean(0) for s in seeds]
        )
        std, mean = torch.std_mean(runs, 0)
        out[kind] = (mean, std)
    return out
