"""Outputs keep their graph; x0's output is caught by a hook that is removed again; numbers are tensors."""
import copy
import torch
from torch import nn

class Probe:
    def __init__(self, layer):
        self.layer = copy.deepcopy(layer)
        self.layer.train()
        self.seen = None
    def __call__(self, batch, row):
        def remember(module, given, output):
            self.seen = output[row]
        handle = self.layer.register_forward_hook(remember)
        try:
            self.layer(batch)
        finally:
            handle.remove()
        return self.seen

def printed_stability(m):
    if isinstance(m, int) and m >= 2:
        return torch.sqrt(torch.tensor(float(m), dtype=torch.float64) / (m - 1))
    raise ValueError(f"printed_stability needs an int of 2 or more, not {m!r}")

def outputs_with_companions(layer, x0, companions):
    probe = Probe(layer)
    return torch.stack([probe(torch.cat((x0.unsqueeze(0), c)), 0) for c in companions])

def spread(outputs):
    return torch.sqrt(torch.mean(torch.square(torch.sub(outputs, outputs.mean(dim=0)))))

def input_gradients(layer, x0, companions, grad_out):
    probe = Probe(layer)
    def one(c):
        mine = x0.detach().clone().requires_grad_(True)
        y = probe(torch.cat((mine.unsqueeze(0), c.clone())), 0)
        return torch.autograd.grad(y, mine, grad_outputs=grad_out)[0]
    return torch.stack([one(c) for c in companions], dim=0)

def leak(layer, x, i, j, grad_out):
    mine = x.detach().clone().requires_grad_(True)
    y = Probe(layer)(mine.clone(), i)
    return torch.autograd.grad(y, mine, grad_outputs=grad_out)[0][j].norm()

def stability_table(layers, x0, companions, grad_out=None):
    rows = []
    for layer in layers.values():
        row = []
        for c in companions:
            try:
                what = outputs_with_companions(layer, x0, c) if grad_out is None else input_gradients(layer, x0, c, grad_out)
                row.append(spread(what).detach())
            except ValueError:
                row.append(torch.tensor(torch.nan, dtype=x0.dtype))
        rows.append(torch.stack(row))
    return torch.stack(rows)

def train_on_batches(model, x, classes, batches, lr):
    modes = {}
    for m in model.modules():
        modes[m] = m.training
        m.training = True
    try:
        steps = torch.optim.SGD([{"params": list(model.parameters())}], lr=lr, foreach=False)
        return [one_step(model, steps, x[b], classes[b]) for b in batches]
    finally:
        for m in modes:
            m.training = modes[m]

def one_step(model, steps, xs, ys):
    steps.zero_grad()
    loss = nn.CrossEntropyLoss()(model(xs), ys)
    loss.backward()
    steps.step()
    return loss

def error_rate(model, x, classes, batch_size=None):
    twin = copy.deepcopy(model)
    if batch_size is None:
        return 1 - twin.eval()(x.clone()).argmax(-1).eq(classes).double().mean()
    twin.train()
    b = batch_size
    blocks = x.unfold(0, b, b).transpose(1, 2)
    truth = classes.unfold(0, b, b)
    guess = torch.stack([twin(block.clone()).argmax(-1) for block in blocks])
    return 1 - guess.eq(truth).double().mean()

def seed_summary(values):
    S = len(values)
    mean = values.mean(dim=0)
    square = (values - mean).square().sum(dim=0)
    return mean, torch.sqrt(square / (S - 1))
