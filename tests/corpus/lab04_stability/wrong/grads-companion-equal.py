# wrong: input_gradients: companions derive from x0 as offsets, so they move with it
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def input_gradients(layer, x0, companions, grad_out):
    twin = copy.deepcopy(layer).train()
    rows = []
    for c in companions:
        z = x0.detach().clone().requires_grad_()
        rows.append(torch.autograd.grad(twin(torch.cat([z[None], z + (c - x0)]))[0] @ grad_out, z)[0])
    return torch.stack(rows)
