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
    modes = {n: m.training for n, m in layer.named_modules()}
    buffers = {n: b.clone() for n, b in layer.named_buffers()}
    layer.train()
    try:
        with torch.no_grad():
            K = companions.shape[0]
            batches = torch.cat([x0.expand(K, 1, x0.shape[0]), companions], dim=1)
            return torch.stack([layer(batches[k].clone())[0].clone() for k in range(K)])
    finally:
        for n, m in layer.named_modules():
            m.training = modes[n]
        for n, b in layer.named_buffers():
            b.copy_(buffers[n])

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
    whole = torch.autograd.functional.jacobian(lambda z: (quiet_copy(layer)(z.clone()) @ grad_out)[i], x)
    return float(whole[j].norm())

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
    twin = quiet_copy(model, mode=batch_size is not None)
    if batch_size is None:
        batch_size = len(x)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(x, classes), batch_size=batch_size, shuffle=False, drop_last=True)
    hits = [(twin(a).argmax(1) == b).double().mean() for a, b in loader]
    return float(1.0 - torch.stack(hits).mean())

def seed_summary(values):
    S = values.size(0)
    mean = values.mean(0)
    std = torch.full_like(mean, float("nan")) if S == 1 else ((values - mean).pow(2).sum(0) / (S - 1)).sqrt()
    return mean, std
