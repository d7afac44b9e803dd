# wrong: error_rate: takes every k-th row for a batch instead of consecutive rows
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
    k = len(x) // b
    wrong = [(twin(x[s:k * b:k].clone()).argmax(1) != classes[s:k * b:k]).float().mean() for s in range(k)]
    return float(sum(wrong) / k)
