# wrong: leak: two arguments have other names, a call by keyword fails
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def leak(layer, x, row, column, grad_out):
    twin = copy.deepcopy(layer).train()
    z = x.detach().clone().requires_grad_()
    return torch.autograd.grad(twin(z.clone())[row] @ grad_out, z)[0][column].norm().item()
