# wrong: input_gradients: the outputs of the companions are in the loss as well
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
        y = twin(torch.cat([z[None], c]))
        rows.append(torch.autograd.grad((y * grad_out).sum(), z)[0])
    return torch.stack(rows)
