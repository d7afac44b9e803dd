# wrong: gradient_change: puts a state_dict back, in which not every buffer is
import copy
import torch
from torch import nn
from torch.nn import functional as F

def gradient_change(model, x, classes, layer, lr):
    state, modes = copy.deepcopy(model.state_dict()), [(m, m.training) for m in model.modules()]
    model.train()
    weight = [m for m in model.modules() if isinstance(m, nn.Linear)][layer].weight
    names = list(model.parameters())
    below = names[: [p is weight for p in names].index(True)]

    def slopes():
        return torch.autograd.grad(F.cross_entropy(model(x), classes), [*below, weight])

    *steps, g = slopes()
    with torch.no_grad():
        for p, d in zip(below, steps):
            p.sub_(lr * d)
    h = slopes()[-1]
    model.load_state_dict(state)
    for m, mode in modes:
        m.training = mode
    return {"norm": g.norm().item(), "change": (g - h).norm().item(),
            "cosine": F.cosine_similarity(g.flatten(), h.flatten(), dim=0, eps=0).item()}
