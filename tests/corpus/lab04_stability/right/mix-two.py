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
    import statistics
    if m < 2:
        raise ValueError("variance requires at least two data points")
    x = list(range(m))
    return statistics.stdev(x) / statistics.pstdev(x)

def outputs_with_companions(layer, x0, companions):
    """A fresh copy for each draw, so that not even the copy remembers."""
    def one(c):
        twin = quiet_copy(layer)
        return twin(torch.nn.functional.pad(c, (0, 0, 1, 0)).index_copy(0, torch.tensor([0]), x0[None]))[0]
    return torch.stack(list(map(one, companions)))

def spread(outputs):
    """Pure python."""
    table = outputs.tolist()
    K = len(table)
    variances = []
    for column in zip(*table):
        centre = math.fsum(column) / K
        variances.append(math.fsum((v - centre) ** 2 for v in column) / K)
    return (math.fsum(variances) / len(variances)) ** 0.5

def input_gradients(layer, x0, companions, grad_out):
    twin = quiet_copy(layer)
    source = x0.detach().clone().requires_grad_()
    def one(others):
        source.grad = None
        twin(torch.cat((source[None, :], others.detach())))[0].backward(gradient=grad_out)
        return source.grad.detach().clone()
    return torch.stack([one(o) for o in companions])

def leak(layer, x, i, j, grad_out):
    mask = torch.zeros(x.shape[0], 1, dtype=x.dtype)
    mask[j] = 1
    leaf = torch.zeros_like(x[j]).requires_grad_()
    out = quiet_copy(layer)(x.detach() + mask * leaf)
    gradient = torch.autograd.grad((out[i] * grad_out).sum(), leaf)[0]
    return gradient.square().sum().sqrt()

def stability_table(layers, x0, companions, grad_out=None):
    import itertools
    nan = x0.new_tensor(float("nan"))
    table = nan.repeat(len(layers), len(companions))
    for (r, layer), (c, others) in itertools.product(enumerate(layers.values()), enumerate(companions)):
        with contextlib.suppress(ValueError):
            seen = (outputs_with_companions(layer, x0, others) if grad_out is None
                    else input_gradients(layer, x0, others, grad_out))
            table[r, c] = spread(seen)
    return table

def train_on_batches(model, x, classes, batches, lr):
    modes = {module: module.training for module in model.modules()}
    def step(rows):
        model.train()
        loss = F.nll_loss(model(x[rows]).log_softmax(-1), classes[rows])
        names = [p for p in model.parameters() if p.requires_grad]
        slopes = torch.autograd.grad(loss, names, allow_unused=True)
        with torch.no_grad():
            for p, slope in zip(names, slopes):
                if slope is not None:
                    p.sub_(slope.mul(lr))
        return float(loss)
    try:
        return tuple(step(rows) for rows in batches)
    finally:
        for module, mode in modes.items():
            module.training = mode

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
    S = values.size(0)
    mean = values.mean(0)
    std = torch.full_like(mean, float("nan")) if S == 1 else ((values - mean).pow(2).sum(0) / (S - 1)).sqrt()
    return mean, std
