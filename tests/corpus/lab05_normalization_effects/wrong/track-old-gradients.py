# wrong: track_training: the first update adds the gradient that was there before
import copy
import torch
from torch import nn
from torch.nn import functional as F

def look(model, x):
    out = []
    twin = copy.deepcopy(model)
    for m in twin.modules():
        if isinstance(m, nn.Linear):
            m.register_forward_hook(lambda m, i, o: out.append((o.flatten(0, -2).mean(0), o.flatten(0, -2).std(0, unbiased=False))))
    with torch.no_grad():
        twin(x)
    return out

def track_training(model, x, classes, batches, lr, probe):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    modes = {m: m.training for m in model.modules()}
    model.train()
    rows = [look(model, probe)]
    for places in batches:
        F.cross_entropy(model(x[places]), classes[places]).backward()
        optimizer.step()
        optimizer.zero_grad()
        rows.append(look(model, probe))
    for m, mode in modes.items():
        m.training = mode
    return [tuple(torch.stack(part) for part in zip(*layer)) for layer in zip(*rows)]
