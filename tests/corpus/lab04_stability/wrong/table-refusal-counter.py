# wrong: stability_table: modes are put back after a refusal, the counter of the layer that refused is not
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

def outputs_with_companions(layer, x0, companions):
    state = kept(layer)
    layer.train()
    with torch.no_grad():
        rows = [layer(torch.cat([x0[None], c]))[0] for c in companions]
    put_back(state)
    return torch.stack(rows)

def spread(outputs):
    return outputs.var(0, unbiased=False).mean().sqrt().item()

def input_gradients(layer, x0, companions, grad_out):
    state = kept(layer)
    layer.train()
    rows = []
    for c in companions:
        z = x0.detach().clone().requires_grad_()
        rows.append(torch.autograd.grad(layer(torch.cat([z[None], c]))[0] @ grad_out, z)[0])
    put_back(state)
    return torch.stack(rows)

def stability_table(layers, x0, companions, grad_out=None):
    t = torch.full((len(layers), len(companions)), math.nan, dtype=x0.dtype)
    for r, layer in enumerate(layers.values()):
        for k, c in enumerate(companions):
            modes = [(m, m.training) for m in layer.modules()]
            try:
                t[r, k] = spread(outputs_with_companions(layer, x0, c) if grad_out is None else input_gradients(layer, x0, c, grad_out))
            except ValueError:
                for m, t in modes: m.training = t
                continue
    return t
