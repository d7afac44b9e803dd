"""torch.func.functional_call; nothing but dictionaries of tensors."""
import torch
from torch import nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy
import copy

predicted_shift, predicted_running_var, predicted_first_change = 1.5, 3, 0.0


def unit_statistics(h):
    rows = h.detach().reshape(-1, h.size(-1))
    m = rows.mean(0, keepdim=True)
    m = m + (rows - m).mean(0, keepdim=True)
    return m[0], torch.linalg.vector_norm(rows - m, dim=0) / rows.size(0) ** 0.5


def _tensors(model, grad):
    p = {k: v.detach().clone().requires_grad_(grad) for k, v in model.named_parameters()}
    b = {k: v.detach().clone() for k, v in model.named_buffers()}
    return p, b


def _modes(model, value=None):
    old = [(m, m.training) for m in model.modules()]
    if value is not None:
        model.train(value)
    return old


def _back(old):
    for m, mode in old:
        m.training = mode


def loss_gradients(model, x, classes):
    p, _ = _tensors(model, True)
    loss = cross_entropy(functional_call(model, p, (x.detach(),)), classes)
    g = torch.autograd.grad(loss, list(p.values()), allow_unused=True)
    return tuple(torch.zeros_like(q) if d is None else d for d, q in zip(g, p.values()))


def preactivation_statistics(model, x):
    seen = []
    handles = []
    for m in model.modules():
        if isinstance(m, nn.Linear):
            handles.append(m.register_forward_hook(lambda m, args, out: seen.append(unit_statistics(out))))
    p, b = _tensors(model, False)
    with torch.no_grad():
        functional_call(model, {**p, **b}, (x,))
    while handles:
        handles.pop().remove()
    return seen


def track_training(model, x, classes, batches, lr, probe):
    old = _modes(model, True)
    looks = [preactivation_statistics(model, probe)]
    for batch in batches:
        g = loss_gradients(model, x[batch], classes[batch])
        with torch.no_grad():
            torch._foreach_add_(list(model.parameters()), list(g), alpha=-lr)
        looks.append(preactivation_statistics(model, probe))
    _back(old)
    return [
        (torch.stack([s[l][0] for s in looks], dim=0), torch.stack([s[l][1] for s in looks], dim=0))
        for l in range(len(looks[0]))
    ]


def drift(history, lag=1):
    T = history[0][0].size(0)
    if lag <= 0 or lag >= T:
        raise ValueError(lag)
    now, then = torch.arange(T - lag), torch.arange(lag, T)
    cols = []
    for mu, sigma in history:
        a = (mu.index_select(0, then) - mu.index_select(0, now)).abs().div(sigma.index_select(0, now))
        b = sigma.index_select(0, then).div(sigma.index_select(0, now)).log().abs()
        cols.append(torch.stack([a.mean(-1), b.mean(-1)]))
    both = torch.stack(cols, dim=-1)
    return both[0], both[1]


def train_eval_gap(model, x, classes):
    out = {}
    old = _modes(model)
    with torch.no_grad():
        for key, flag in (("batch", True), ("running", False)):
            model.train(flag)
            p, b = _tensors(model, False)
            out[key] = functional_call(model, {**p, **b}, (x,))
    _back(old)
    loss = {k: -v.log_softmax(1).gather(1, classes[:, None]).mean() for k, v in out.items()}
    a, b = (v.max(dim=1).indices for v in out.values())
    return {**loss, "changed": 1 - (a == b).sum().item() / len(a)}


def reestimate(model, batches):
    if not batches:
        raise ValueError("nothing to average")
    bns = [m for m in model.modules() if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)) and m.running_mean is not None]
    old, momenta = _modes(model, True), [m.momentum for m in bns]
    sums = [(torch.zeros_like(m.running_mean), torch.zeros_like(m.running_var)) for m in bns]
    for m in bns:
        m.momentum = 1.0
    with torch.no_grad():
        for batch in batches:
            for m in bns:
                m.reset_running_stats()
            model(batch)
            for m, (s, q) in zip(bns, sums):
                s += m.running_mean
                q += m.running_var
        for m, (s, q) in zip(bns, sums):
            m.running_mean.copy_(s / len(batches))
            m.running_var.copy_(q / len(batches))
            m.num_batches_tracked.copy_(torch.tensor(len(batches)))
    for m, v in zip(bns, momenta):
        m.momentum = v
    _back(old)


def gradient_change(model, x, classes, layer, lr):
    name = [n for n, m in model.named_modules() if isinstance(m, nn.Linear)][layer]
    name = name + ".weight" if name else "weight"
    old = _modes(model, True)
    p, b = _tensors(model, True)

    def grads(p):
        fresh = {k: v.clone() for k, v in b.items()}
        loss = cross_entropy(functional_call(model, {**p, **fresh}, (x.detach(),)), classes)
        g = torch.autograd.grad(loss, list(p.values()), allow_unused=True)
        return {k: torch.zeros_like(v) if d is None else d for (k, v), d in zip(p.items(), g)}

    first = grads(p)
    moved, below = {}, True
    for k, v in p.items():
        below = below and k != name
        moved[k] = (v - lr * first[k] if below else v).detach().requires_grad_()
    second = grads(moved)
    _back(old)
    g, h = first[name].ravel(), second[name].ravel()
    return {"norm": g.norm(), "change": torch.dist(g, h), "cosine": torch.dot(g / g.norm(), h / h.norm())}


def compare(makers, seeds, x, classes, batches, lr, probe):
    if len(seeds) < 2:
        raise ValueError("two seeds at least")
    kinds = list(makers)
    sizes = [[m.out_features for m in makers[k](seeds[0]).modules() if isinstance(m, nn.Linear)] for k in kinds]
    if not all(s == sizes[0] for s in sizes):
        raise ValueError("unmatched")

    def one(kind, seed):
        return drift(track_training(makers[kind](seed), x, classes, batches, lr, probe))[0].mean(0)

    table = {k: torch.stack([one(k, s) for s in seeds]) for k in kinds}
    return {k: tuple(reversed(torch.std_mean(v, dim=0))) for k, v in table.items()}
