# wrong: leak: backward leaves gradients in the parameters
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

def leak(layer, x, i, j, grad_out):
    state = kept(layer)
    layer.train()
    z = x.detach().clone().requires_grad_()
    try:
        (layer(z.clone())[i] * grad_out).sum().backward()
    finally:
        put_back(state)
    return z.grad[j].norm().item()
