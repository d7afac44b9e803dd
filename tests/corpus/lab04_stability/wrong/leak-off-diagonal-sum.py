# wrong: leak: largest entry instead of the Euclidean norm
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
    return torch.autograd.grad(y[i] @ grad_out, z)[0][j].norm(p=float("inf")).item()
