# wrong: leak: keeps the mode that the layer arrives in
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def leak(layer, x, i, j, grad_out):
    twin = copy.deepcopy(layer)
    z = x.detach().clone().requires_grad_()
    return torch.autograd.grad(twin(z.clone())[i] @ grad_out, z)[0][j].norm().item()
