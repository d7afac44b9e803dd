# wrong: leak: leaves requires_grad switched on at the x of the caller
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def leak(layer, x, i, j, grad_out):
    twin = copy.deepcopy(layer).train()
    x.requires_grad_(True)
    return torch.autograd.grad(twin(x.clone())[i] @ grad_out, x)[0][j].norm().item()
