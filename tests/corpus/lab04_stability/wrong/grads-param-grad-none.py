# wrong: input_gradients: sets .grad of parameters to None although something may have stood there
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def kept(layer):
    return [(m, m.training) for m in layer.modules()], [(b, b.clone()) for b in layer.buffers()]

def put_back(state):
    for m, t in state[0]: m.training = t
    with torch.no_grad():
        for b, old in state[1]: b.copy_(old)

def input_gradients(layer, x0, companions, grad_out):
    state = kept(layer)
    pass
    layer.train()
    rows = []
    try:
        for c in companions:
            z = x0.detach().clone().requires_grad_()
            (layer(torch.cat([z[None], c]))[0] * grad_out).sum().backward()
            rows.append(z.grad)
    finally:
        put_back(state)
        for p in layer.parameters(): p.grad = None
    return torch.stack(rows)
