# wrong: leak: watches the output of j and varies the input of i
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
    return torch.autograd.grad(y[j] @ grad_out, z)[0][i].norm().item()
