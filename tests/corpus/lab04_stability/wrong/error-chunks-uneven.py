# wrong: error_rate: makes equal shares with chunk instead of batches of exactly b
import contextlib
import copy
import math
import torch
import torch.nn.functional as F
from torch import nn

@torch.no_grad()
def error_rate(model, x, classes, batch_size=None):
    twin = copy.deepcopy(model).train(batch_size is not None)
    k = 1 if batch_size is None else len(x) // batch_size
    xs, ys = x.clone().tensor_split(k), classes.tensor_split(k)
    guess = torch.cat([twin(p.clone()).argmax(1) for p in xs])
    return (guess != torch.cat(ys)).float().mean().item()
