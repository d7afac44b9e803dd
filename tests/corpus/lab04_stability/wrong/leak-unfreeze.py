# wrong: leak: makes frozen parameters trainable afterwards
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
    layer.train().requires_grad_(False)
    z = x.detach().clone().requires_grad_()
    try:
        return torch.autograd.grad(layer(z.clone())[i] @ grad_out, z)[0][j].norm().item()
    finally:
        put_back(state)
        layer.requires_grad_(True)
