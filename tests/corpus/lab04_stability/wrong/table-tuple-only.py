# wrong: stability_table: takes companions for a tuple, and fails for a list
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def outputs_with_companions(layer, x0, companions):
    twin = copy.deepcopy(layer).train()
    with torch.no_grad():
        return torch.stack([twin(torch.cat([x0[None], c]))[0] for c in companions])

def spread(outputs):
    return outputs.var(0, unbiased=False).mean().sqrt().item()

def input_gradients(layer, x0, companions, grad_out):
    twin = copy.deepcopy(layer).train()
    rows = []
    for c in companions:
        z = x0.detach().clone().requires_grad_()
        rows.append(torch.autograd.grad(twin(torch.cat([z[None], c]))[0] @ grad_out, z)[0])
    return torch.stack(rows)

def stability_table(layers, x0, companions, grad_out=None):
    t = torch.full((len(layers), len(companions)), math.nan, dtype=x0.dtype)
    for r, layer in enumerate(layers.values()):
        for k, c in enumerate(companions + ()):
            try:
                t[r, k] = spread(outputs_with_companions(layer, x0, c) if grad_out is None else input_gradients(layer, x0, c, grad_out))
            except ValueError:
                t[r, k] = math.nan
    return t
