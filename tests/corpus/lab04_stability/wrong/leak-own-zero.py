# wrong: leak: says 0 for i == j, an example does not leak into itself
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def leak(layer, x, i, j, grad_out):
    twin = copy.deepcopy(layer).train()
    z = x.detach().clone().requires_grad_()
    y = twin(z.clone())
    return 0.0 if i == j else torch.autograd.grad(y[i] @ grad_out, z)[0][j].norm().item()
