import torch
from torch import nn
import torch.nn.functional as F

class Snapshot:
    def __init__(self, net):
        self.net = net
        self.modes = [m.training for m in net.modules()]
        self.buffers = [(b, b.clone()) for b in net.buffers()]
    def __enter__(self):
        self.net.train()
        return self.net
    def __exit__(self, *problem):
        for m, was in zip(self.net.modules(), self.modes):
            m.training = was
        for b, old in self.buffers:
            b.data.copy_(old)
        return False

def printed_stability(m):
    if not m >= 2:
        raise ValueError("Too small a batch")
    return float(torch.tensor(m / (m - 1), dtype=torch.float64).sqrt())

def build(x0, c):
    batch = c.new_empty(c.shape[0] + 1, c.shape[1])
    batch[0] = x0
    batch[1:] = c
    return batch

def outputs_with_companions(layer, x0, companions):
    result = None
    with Snapshot(layer) as net, torch.no_grad():
        for k in range(len(companions)):
            y = net(build(x0, companions[k]))[0]
            if result is None:
                result = y.new_zeros((len(companions), y.numel()))
            result[k] = y
    return result

def spread(outputs):
    return outputs.std(dim=0, correction=0).pow(2).mean().sqrt()

def _gradient(net, batch, i, grad_out):
    batch = batch.detach().clone().requires_grad_(True)
    y = net(batch.view_as(batch).clone())
    seed = torch.zeros_like(y)
    seed[i] = grad_out
    return torch.autograd.grad(outputs=y, inputs=batch, grad_outputs=seed)[0]

def input_gradients(layer, x0, companions, grad_out):
    with Snapshot(layer) as net:
        return torch.stack([_gradient(net, build(x0, c), 0, grad_out)[0] for c in companions])

def leak(layer, x, i, j, grad_out):
    with Snapshot(layer) as net:
        return _gradient(net, x, i, grad_out)[j].norm(p=2)

def stability_table(layers, x0, companions, grad_out=None):
    def measure(layer, c):
        if grad_out is None:
            return outputs_with_companions(layer, x0, c)
        return input_gradients(layer, x0, c, grad_out)
    table = x0.new_zeros(len(layers), len(companions))
    for a, layer in enumerate(layers.values()):
        for b, c in enumerate(companions):
            try:
                measured = measure(layer, c)
            except ValueError as refusal:
                table[a, b] = float("nan")
            else:
                table[a, b] = spread(measured)
    return table

def train_on_batches(model, x, classes, batches, lr):
    modes = [m.training for m in model.modules()]
    history = ()
    model.train(True)
    try:
        for rows in batches:
            for p in model.parameters():
                p.grad = None
            loss = F.cross_entropy(model(x.index_select(0, rows)), classes.index_select(0, rows))
            loss.backward()
            for p in model.parameters():
                if p.grad is not None:
                    p.data.add_(p.grad, alpha=-lr)
            history += (float(loss),)
    finally:
        for m, was in zip(model.modules(), modes):
            m.training = was
    return history

def error_rate(model, x, classes, batch_size=None):
    with Snapshot(model) as net, torch.no_grad():
        if batch_size is None:
            net.eval()
            return float((net(x.clone()).max(dim=1).indices != classes).sum()) / len(x)
        full = len(x) // batch_size
        wrong = 0
        for k in range(full):
            rows = slice(k * batch_size, (k + 1) * batch_size)
            wrong += (net(x[rows].clone()).max(dim=1).indices != classes[rows]).sum().item()
        return wrong / (full * batch_size)

def seed_summary(values):
    if len(values) < 2:
        return values[0].clone(), values[0] * float("nan")
    return torch.mean(values, 0), torch.var(values, 0, unbiased=True).sqrt()
