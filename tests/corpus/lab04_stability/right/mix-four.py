import contextlib
import copy
import math
import torch
import torch.nn.functional as F

def quiet_copy(module, mode=True):
    twin = copy.deepcopy(module)
    twin.requires_grad_(False)
    return twin.train(mode)

def printed_stability(m):
    if m in (0, 1) or m < 0:
        raise ValueError("no variance with a batch of %r" % (m,))
    return (m / (m - 1)) ** .5

def outputs_with_companions(layer, x0, companions):
    """A fresh copy for each draw, so that not even the copy remembers."""
    def one(c):
        twin = quiet_copy(layer)
        return twin(torch.nn.functional.pad(c, (0, 0, 1, 0)).index_copy(0, torch.tensor([0]), x0[None]))[0]
    return torch.stack(list(map(one, companions)))

def spread(outputs):
    var, _ = torch.var_mean(outputs.double(), dim=0, correction=0)
    return var.mean().sqrt().item()

def input_gradients(layer, x0, companions, grad_out):
    twin = quiet_copy(layer)
    gradients = torch.zeros(companions.shape[0], x0.shape[0], dtype=x0.dtype)
    for k, others in enumerate(companions):
        batch = torch.cat([x0.unsqueeze(0), others]).detach().requires_grad_()
        y = twin(batch.clone())
        upstream = torch.zeros_like(y)
        upstream[0] += grad_out
        y.backward(upstream)
        gradients[k] = batch.grad[0]
    return gradients

def leak(layer, x, i, j, grad_out):
    mask = torch.zeros(x.shape[0], 1, dtype=x.dtype)
    mask[j] = 1
    leaf = torch.zeros_like(x[j]).requires_grad_()
    out = quiet_copy(layer)(x.detach() + mask * leaf)
    gradient = torch.autograd.grad((out[i] * grad_out).sum(), leaf)[0]
    return gradient.square().sum().sqrt()

def stability_table(layers, x0, companions, grad_out=None):
    def column(others):
        cells = []
        for name in layers.keys():
            args = (layers[name], x0, others)
            try:
                found = outputs_with_companions(*args) if grad_out is None else input_gradients(*args, grad_out)
            except ValueError:
                cells.append(float("nan"))
                continue
            cells.append(float(spread(found)))
        return torch.tensor(cells, dtype=x0.dtype)
    return torch.stack([column(o) for o in companions], dim=1)

def train_on_batches(model, x, classes, batches, lr):
    was = [m.training for m in model.modules()]
    try:
        model.train()
        losses = []
        for rows in batches:
            optimizer = torch.optim.SGD(model.parameters(), lr)
            optimizer.zero_grad()
            losses.append(F.cross_entropy(model(x[rows]), classes[rows]))
            losses[-1].backward()
            optimizer.step()
        return [l.item() for l in losses]
    finally:
        for m, mode in zip(model.modules(), was):
            m.training = mode

def error_rate(model, x, classes, batch_size=None):
    twin = quiet_copy(model, batch_size is not None)
    groups = [range(len(x))] if batch_size is None else [
        range(s, s + batch_size) for s in range(0, len(x) - batch_size + 1, batch_size)]
    wrong = total = 0
    for group in groups:
        group = list(group)
        guess = twin(x[group]).topk(1, dim=1).indices.flatten()
        wrong += sum(a != b for a, b in zip(guess.tolist(), classes[group].tolist()))
        total += len(group)
    return wrong / total

def seed_summary(values):
    import numpy
    a = values.detach().numpy()
    with numpy.errstate(all="ignore"):
        return torch.from_numpy(a.mean(axis=0)), torch.from_numpy(numpy.asarray(a.std(axis=0, ddof=1)))
