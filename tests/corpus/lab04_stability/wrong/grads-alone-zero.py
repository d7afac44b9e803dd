# wrong: input_gradients: without companions it returns zeros and never asks the layer
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def input_gradients(layer, x0, companions, grad_out):
    twin = copy.deepcopy(layer).train()
    if companions.shape[1] == 0:
        return x0.new_zeros(companions.shape[0], x0.shape[0])
    rows = []
    for c in companions:
        z = x0.detach().clone().requires_grad_()
        rows.append(torch.autograd.grad(twin(torch.cat([z[None], c]))[0] @ grad_out, z)[0])
    return torch.stack(rows)
