import torch
from torch import nn
from torch.nn.functional import cross_entropy


class Snapshot:
    """Remembers a model bit by bit, and puts it back."""

    def __init__(self, model):
        self.model = model
        self.modes = [(m, m.training) for m in model.modules()]
        self.momenta = [(m, m.momentum) for m in model.modules() if hasattr(m, "momentum")]
        self.numbers = [(t, t.detach().clone()) for t in [*model.parameters(), *model.buffers()]]
        self.grads = [(p, p.grad, None if p.grad is None else p.grad.clone(), p.requires_grad) for p in model.parameters()]

    def modes_back(self):
        for m, training in self.modes:
            m.training = training

    def back(self):
        self.modes_back()
        for m, momentum in self.momenta:
            m.momentum = momentum
        with torch.no_grad():
            for t, value in self.numbers:
                t.copy_(value)
        for p, g, value, wanted in self.grads:
            p.grad = g
            if g is not None:
                g.copy_(value)
            p.requires_grad_(wanted)


def linears(model):
    return [m for m in model.modules() if type(m) is nn.Linear]


def preactivation_statistics(model, x):
    before = Snapshot(model)
    pairs = []

    def hook(module, inputs, output):
        z = output.detach().reshape(-1, output.size(-1))
        pairs.append((z.mean(dim=0), torch.std(z, dim=0, unbiased=False)))

    hooks = [layer.register_forward_hook(hook) for layer in linears(model)]
    with torch.no_grad():
        model(x)
    while hooks:
        hooks.pop().remove()
    before.back()
    return pairs


def track_training(model, x, classes, batches, lr, probe):
    start = Snapshot(model)
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    seen = [preactivation_statistics(model, probe)]
    for batch in batches:
        optimizer.zero_grad(set_to_none=True)
        cross_entropy(model(x[batch]), classes[batch]).backward()
        optimizer.step()
        seen.append(preactivation_statistics(model, probe))
    start.modes_back()
    result = []
    for l in range(len(seen[0])):
        result.append((torch.stack([s[l][0] for s in seen]), torch.stack([s[l][1] for s in seen])))
    return result


def drift(history, lag=1):
    times = len(history[0][0])
    if lag < 1:
        raise ValueError("lag must be at least 1")
    if times <= lag:
        raise ValueError("too short")
    moved = torch.zeros(times - lag, len(history), dtype=history[0][0].dtype)
    widened = torch.zeros_like(moved)
    for l, (means, stds) in enumerate(history):
        for t in range(times - lag):
            moved[t, l] = ((means[t + lag] - means[t]).abs() / stds[t]).mean()
            widened[t, l] = torch.log(stds[t + lag] / stds[t]).abs().mean()
    return (moved, widened)


def train_eval_gap(model, x, classes):
    before = Snapshot(model)
    with torch.no_grad():
        model.eval()
        running = model(x)
        model.train()
        batch = model(x)
    before.back()
    return {
        "batch": cross_entropy(batch, classes),
        "running": cross_entropy(running, classes),
        "changed": (batch.max(1).indices != running.max(1).indices).to(x.dtype).mean(),
    }


def reestimate(model, batches):
    if len(batches) < 1:
        raise ValueError("give me a batch")
    before = Snapshot(model)
    norms = [m for m in model.modules() if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))]
    means, variances = [], []
    model.train()
    for norm in norms:
        norm.momentum = 1.0  # what is remembered is the batch itself
    with torch.no_grad():
        for batch in batches:
            model(batch)
            means.append([norm.running_mean.clone() for norm in norms])
            variances.append([norm.running_var.clone() for norm in norms])
    before.back()
    for i, norm in enumerate(norms):
        norm.running_mean = sum(m[i] for m in means) / len(batches)
        norm.running_var = sum(v[i] for v in variances) / len(batches)
        norm.num_batches_tracked = torch.tensor(len(batches))


def gradient_change(model, x, classes, layer, lr):
    before = Snapshot(model)
    weight = linears(model)[layer].weight
    below = []
    for p in model.parameters():
        if p is weight:
            break
        below.append(p)
    for p in model.parameters():
        p.grad = None
    model.train()
    cross_entropy(model(x), classes).backward()
    old = weight.grad.clone()
    with torch.no_grad():
        for p in below:
            p.sub_(lr * p.grad)
    weight.grad = None
    cross_entropy(model(x), classes).backward()
    new = weight.grad.clone()
    before.back()
    length = lambda t: t.pow(2).sum().sqrt()  # noqa: E731
    return {
        "norm": length(old).item(),
        "change": length(old - new).item(),
        "cosine": ((old * new).sum() / length(old) / length(new)).item(),
    }


def compare(makers, seeds, x, classes, batches, lr, probe):
    if len(seeds) < 2:
        raise ValueError("two seeds at least")
    wanted = None
    for make in makers.values():
        units = [l.out_features for l in linears(make(seeds[0]))]
        if wanted is not None and units != wanted:
            raise ValueError("nothing to compare")
        wanted = units
    found = {}
    for kind in makers:
        rows = []
        for seed in seeds:
            moved, _ = drift(track_training(makers[kind](seed), x, classes, batches, lr, probe))
            rows.append(moved.mean(0))
        table = torch.stack(rows)
        mean = table.sum(0) / len(seeds)
        bar = torch.sqrt(((table - mean) ** 2).sum(0) / (len(seeds) - 1))
        found[kind] = (mean, bar)
    return found
