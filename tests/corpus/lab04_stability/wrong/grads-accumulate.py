# wrong: input_gradients: reuses one leaf without clearing, each row is the sum of all so far
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def input_gradients(layer, x0, companions, grad_out):
    twin = copy.deepcopy(layer).train()
    z = x0.detach().clone().requires_grad_()
    rows = []
    for c in companions:
        (twin(torch.cat([z[None], c]))[0] * grad_out).sum().backward()
        rows.append(z.grad.clone())
    return torch.stack(rows)
