"""state_dict snapshots; flat parameter vectors."""
import contextlib

import torch
import torch.nn as nn
import torch.nn.functional as F

predicted_shift = (5 - 2) / 2
predicted_running_var = (2 + 4) / 2
predicted_first_change = 0


@contextlib.contextmanager
def untouched(model, tensors=True):
    """Put everything back at the end, bit by bit."""
    modes = {m: m.training for m in model.modules()}
    flags = [(p, p.requires_grad, p.grad) for p in model.parameters()]
    state = [(t, t.detach().clone()) for t in (*model.parameters(), *model.buffers())] if tensors else []
    try:
        yield model
    finally:
        with torch.no_grad():
            for t, old in state:
                t.copy_(old)
        for m, mode in modes.items():
            m.training = mode
        for p, flag, grad in flags:
            p.requires_grad_(flag)
            p.grad = grad


@contextlib.contextmanager
def watching(model):
    seen = []

    def hook(module, args, output):
        seen.append(unit_statistics(output))  # now: an in-place ReLU may follow

    handles = [m.register_forward_hook(hook) for m in model.modules() if isinstance(m, nn.Linear)]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def unit_statistics(h):
    columns = h.detach().reshape(-1, h.shape[-1]).T.contiguous()
    mean = columns.mean(1)
    cloud = columns - mean.unsqueeze(1)
    cloud -= cloud.mean(1, keepdim=True)
    return mean, cloud.square_().mean(1).sqrt_()


def loss_gradients(model, x, classes):
    params = tuple(model.parameters())
    old = [p.grad for p in params]
    flags = [p.requires_grad for p in params]
    for p in params:
        p.grad = None
        p.requires_grad_(True)
    with torch.enable_grad():
        F.cross_entropy(model(x.detach()), classes).backward()
    new = [torch.zeros_like(p) if p.grad is None else p.grad for p in params]
    for p, g, f in zip(params, old, flags):
        p.grad = g
        p.requires_grad_(f)
    return new


@torch.no_grad()
def preactivation_statistics(model, x):
    with untouched(model), watching(model) as seen:
        model(x)
    return seen


def track_training(model, x, classes, batches, lr, probe):
    with untouched(model, tensors=False):
        model.train()
        model.requires_grad_(True)
        for p in model.parameters():
            p.grad = None
        sgd = torch.optim.SGD(model.parameters(), lr=lr)
        frames = [preactivation_statistics(model, probe)]
        for batch in batches:
            sgd.zero_grad()
            F.cross_entropy(model(x[batch].detach()), classes[batch]).backward()
            sgd.step()
            frames.append(preactivation_statistics(model, probe))
        sgd.zero_grad()
    result = []
    for layer in range(len(frames[0])):
        result.append((torch.stack([f[layer][0] for f in frames]), torch.stack([f[layer][1] for f in frames])))
    return result


def drift(history, lag=1):
    times = min(len(means) for means, _ in history)
    if not 1 <= lag < times:
        raise ValueError(f"lag {lag} with {times} times")
    first = history[0][0]
    moved = first.new_empty(times - lag, len(history))
    widened = torch.empty_like(moved)
    for column, (means, stds) in enumerate(history):
        for t in range(times - lag):
            moved[t, column] = torch.mean(torch.abs(means[t + lag] - means[t]) / stds[t])
            widened[t, column] = torch.mean(torch.abs(torch.log(stds[t + lag] / stds[t])))
    return moved, widened


@torch.no_grad()
def train_eval_gap(model, x, classes):
    with untouched(model):
        running = model.eval()(x)
        batch = model.train()(x)
    differs = len(classes) - sum(a == b for a, b in zip(running.argmax(-1).tolist(), batch.argmax(-1).tolist()))
    return dict(
        batch=float(F.cross_entropy(batch, classes)),
        running=float(F.cross_entropy(running, classes)),
        changed=differs / len(classes),
    )


def reestimate(model, batches):
    if len(batches) < 1:
        raise ValueError("at least one batch, please")
    sums = {}

    def hook(module, args):
        h = args[0]
        axes = [d for d in range(h.dim()) if d != 1]
        var, mean = torch.var_mean(h, dim=axes)
        old = sums.get(module, (0, 0))
        sums[module] = (old[0] + mean, old[1] + var)

    norms = [m for m in model.modules() if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d))]
    handles = [m.register_forward_pre_hook(hook) for m in norms]
    with untouched(model), torch.no_grad():
        model.train()
        for batch in batches:
            model(batch)
    for handle in handles:
        handle.remove()
    with torch.no_grad():
        for m, (mean, var) in sums.items():
            if m.running_mean is not None:
                m.running_mean.copy_(mean / len(batches))
                m.running_var.copy_(var / len(batches))
                m.num_batches_tracked.fill_(len(batches))


def gradient_change(model, x, classes, layer, lr):
    with untouched(model):
        model.train()
        weight = [m.weight for m in model.modules() if isinstance(m, nn.Linear)][layer]
        g = loss_gradients(model, x, classes)
        params = list(model.parameters())
        ids = [id(p) for p in params]
        below = params[: ids.index(id(weight))]
        if below:
            vector = nn.utils.parameters_to_vector(below).detach()
            steps = torch.cat([s.reshape(-1) for s in g[: len(below)]])
            vector = vector - lr * steps
            start = 0
            with torch.no_grad():
                for p in below:
                    p.copy_(vector[start : start + p.numel()].view_as(p))
                    start += p.numel()
        G = g[len(below)]
        H = loss_gradients(model, x, classes)[len(below)]
    norm = G.square().sum().sqrt()
    return {"norm": norm, "change": (G - H).square().sum().sqrt(), "cosine": (G * H).sum() / norm / H.square().sum().sqrt()}


def compare(makers, seeds, x, classes, batches, lr, probe):
    seeds = list(seeds)
    if len(seeds) <= 1:
        raise ValueError("no error bar")
    widths = []
    for make in makers.values():
        widths.append([m.out_features for m in make(seeds[0]).modules() if isinstance(m, nn.Linear)])
    for other in widths[1:]:
        if other != widths[0]:
            raise ValueError("no matched points")
    answer = {}
    for name in makers:
        rows = []
        for seed in seeds:
            history = track_training(makers[name](seed), x, classes, batches, lr, probe)
            rows.append(drift(history, lag=1)[0].mean(dim=0))
        mean = sum(rows) / len(rows)
        bar = (sum((row - mean) ** 2 for row in rows) / (len(rows) - 1)).sqrt()
        answer[name] = (mean, bar)
    return answer
