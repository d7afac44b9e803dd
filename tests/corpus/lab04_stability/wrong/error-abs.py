# wrong: error_rate: in batches, takes the output of largest size regardless of sign
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

@torch.no_grad()
def error_rate(model, x, classes, batch_size=None):
    twin = copy.deepcopy(model).train(batch_size is not None)
    b = batch_size or len(x)
    n = len(x) // b * b
    guess = torch.cat([twin(x[s:s + b].clone()).square().argmax(1) for s in range(0, n, b)])
    return (guess != classes[:n]).float().mean().item()
