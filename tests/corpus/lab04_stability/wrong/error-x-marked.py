# wrong: error_rate: switches requires_grad on at the x of the caller
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

def error_rate(model, x, classes, batch_size=None):
    twin = copy.deepcopy(model).train(batch_size is not None)
    x.requires_grad_()
    b = batch_size or len(x)
    n = len(x) // b * b
    guess = torch.cat([twin(x[s:s + b].clone()).argmax(1) for s in range(0, n, b)])
    return (guess != classes[:n]).float().mean().item()
