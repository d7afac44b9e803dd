# wrong: error_rate: makes frozen parameters trainable afterwards
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

def error_rate(model, x, classes, batch_size=None):
    state = kept(model)
    model.requires_grad_(False).train(batch_size is not None)
    b = batch_size or len(x)
    n = len(x) // b * b
    try:
        guess = torch.cat([model(x[s:s + b].clone()).argmax(1) for s in range(0, n, b)])
    finally:
        put_back(state)
        model.requires_grad_(True)
    return (guess != classes[:n]).float().mean().item()
